import { hexDigestOf } from '../../../base/text/digest.ts'

type AppleDevice = { readonly deviceType: string; readonly deviceId: string | undefined }

const TEXT_MAX = 500
const CACHE_MAX = 1000
const fields = ['name', 'manufacturer', 'model', 'hardware'] as const

/**
 * Reads `<<HKDevice: 0x2830bd0e0>, name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch6,1, software:9.1>`.
 * The address changes from record to record and the software from month to month, so neither is part of the identity.
 */
export function createDeviceParser(): (text: string | undefined, source: string) => AppleDevice {
  const known = new Map<string, AppleDevice>()
  let last: { readonly description: string; readonly source: string; readonly device: AppleDevice } | undefined
  const find = (description: string, source: string): AppleDevice => {
    const key = `${description}|${source}`
    const before = known.get(key)
    if (before) return before
    if (known.size >= CACHE_MAX) known.clear()
    const device = deviceOf(description, source)
    known.set(key, device)
    return device
  }
  // Neighbouring records are mostly of one device.
  return (text = '', source) => {
    const description = withoutAddress(text)
    if (last?.description !== description || last.source !== source)
      last = { description, source, device: find(description, source) }
    return last.device
  }
}

const withoutAddress = (text: string): string =>
  text.slice(text.startsWith('<<HKDevice: 0x') ? Math.max(0, text.indexOf('>')) : 0, TEXT_MAX)

function deviceOf(text: string, source: string): AppleDevice {
  const found = fields.map((field) => text.match(new RegExp(`\\b${field}:(.*?)(?:, [a-zA-Z ]+:|>?$)`))?.[1] ?? '')
  const isNamed = found.some((value) => value !== '')
  return {
    deviceType: kindOf(isNamed ? found.join(' ') : source),
    deviceId: isNamed ? hexDigestOf(JSON.stringify(found), 32) : undefined,
  }
}

const kinds: ReadonlyArray<readonly [pattern: RegExp, kind: string]> = [
  [/watch/i, 'watch'],
  [/phone|ipad|ipod/i, 'phone'],
  [/scale/i, 'scale'],
  [/\bring\b/i, 'ring'],
  [/strap/i, 'chest_strap'],
  [/\bband\b/i, 'fitness_band'],
]

const kindOf = (text: string): string => kinds.find(([pattern]) => pattern.test(text))?.[1] ?? 'unknown'
