import type { Registry } from 'prom-client'

const OPENMETRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

/** The metrics as text, in OpenMetrics where the caller prefers it to Prometheus's own format. */
export async function exposeMetrics(
  registry: Registry,
  accept: string | undefined,
): Promise<{ contentType: string; text: string }> {
  const text = await sharedText(registry)
  if (!prefersOpenMetrics(accept ?? '')) return { contentType: registry.contentType, text }
  return { contentType: OPENMETRICS_TYPE, text: toOpenMetrics(text) }
}

const underWay = new WeakMap<Registry, Promise<string>>()

/** Callers at one time share one text: however many scrape, the metrics are collected once. */
function sharedText(registry: Registry): Promise<string> {
  const begun = underWay.get(registry)
  if (begun !== undefined) return begun
  const text = registry.metrics().finally(() => underWay.delete(registry))
  underWay.set(registry, text)
  return text
}

function prefersOpenMetrics(accept: string): boolean {
  const weights = accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return { type, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
  })
  const weightOf = (wanted: string) =>
    Math.max(0, ...weights.filter(({ type }) => type === wanted).map(({ weight }) => weight))
  return weightOf('application/openmetrics-text') > weightOf('text/plain')
}

/**
 * Made from the other format, because prom-client's own OpenMetrics registry renames the counters that it shares with
 * another registry. The formats differ in three things: a family of counters is named without its suffix, no line is
 * empty, and the end is marked.
 */
function toOpenMetrics(text: string): string {
  const lines = text.split('\n').filter((line) => line !== '')
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\S+)_total counter$/.exec(line)?.[1] ?? []))
  const renamed = lines.map((line) => {
    const [, word = '', name = '', rest = ''] = /^# (HELP|TYPE) (\S+)_total (.*)$/.exec(line) ?? []
    return counters.has(name) ? `# ${word} ${name} ${rest}` : line
  })
  return `${renamed.join('\n')}\n# EOF\n`
}
