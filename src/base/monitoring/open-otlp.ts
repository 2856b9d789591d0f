import type { OtlpExport, OtlpProcess, OtlpSettings } from './start-otlp.ts'

/** Loads the SDK only where an endpoint is set: without one, nothing of it is in the process. */
export async function openOtlp(
  settings: OtlpSettings | undefined,
  otlpProcess: OtlpProcess,
): Promise<OtlpExport | undefined> {
  if (settings === undefined) return undefined
  const { startOtlp } = await import('./start-otlp.ts')
  return startOtlp(settings, otlpProcess)
}
