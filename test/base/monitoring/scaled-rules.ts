import { parse, stringify } from 'yaml'

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Rules of Prometheus in which every `for:` and every range is shorter by one factor. Bounds stay as they are. */
export function scaleRules(text: string, factor: number): string {
  const scaled = (duration: string) => {
    const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? []
    const lengthMs = Number(count) * (unitsMs[unit] ?? Number.NaN)
    if (!Number.isFinite(lengthMs)) throw new Error(`scale rules: ${duration} is no duration of one unit`)
    return `${Math.round(lengthMs / factor)}ms`
  }
  const rules = parse(text)
  for (const { rules: list } of rules.groups)
    for (const rule of list) {
      if (rule.for) rule.for = scaled(rule.for)
      rule.expr = rule.expr.replace(/\[(\w+)\]/g, (_: string, range: string) => `[${scaled(range)}]`)
    }
  return stringify(rules)
}
