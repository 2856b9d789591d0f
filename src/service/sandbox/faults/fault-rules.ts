import { z } from 'zod'
import { type OperationName, operations } from '../../../base/contract/operations.ts'
import { UsageProblem } from '../../../base/errors.ts'
import { type FaultName, faultCatalogue, faultNames, isFaultName, plainFaults } from './fault-catalogue.ts'

/** Faults that strike single records. The other faults strike requests or whole answers. */
export const singleRecordFaults: readonly FaultName[] = [
  'late',
  'revised',
  'vanished',
  'failed-derivation',
  'duplicates',
  'odd-records',
]

const operationNames = Object.keys(operations) as [OperationName, ...OperationName[]] // the keys of a literal are its names
const [firstName = 'latency', ...otherNames] = faultNames

export const faultRuleSchema = z
  .object({
    name: z.enum([firstName, ...otherNames], { error: `must be one of ${faultNames.join(', ')}` }),
    /** The share of requests, or for faults in records the share of records, that the fault strikes. */
    rate: z.number().min(0).max(1).default(1),
    /** Absent: all operations. */
    operations: z.array(z.enum(operationNames, { error: `must be one of ${operationNames.join(', ')}` })).optional(),
    /** externalIds; absent: all profiles. */
    profiles: z.array(z.string()).optional(),
    /** The local days of the records that a fault changes; absent: all days. */
    days: z.array(z.iso.date()).optional(),
    /** The number of strikes after which the rule ends; absent: never. */
    timesMax: z.int().min(1).optional(),
    settings: z.record(z.string(), z.number().min(0)).optional(),
  })
  .superRefine((rule, context) => {
    if (rule.days && !singleRecordFaults.includes(rule.name)) {
      const message = `${rule.name} has none: only ${singleRecordFaults.join(', ')} select records by their day`
      context.addIssue({ code: 'custom', path: ['days'], message })
    }
    const known = Object.keys(faultCatalogue[rule.name].settings)
    for (const setting of Object.keys(rule.settings ?? {})) {
      if (known.includes(setting)) continue
      const message = `${rule.name} has ${known.length ? `the settings ${known.join(', ')}` : 'no settings'}`
      context.addIssue({ code: 'custom', path: ['settings', setting], message })
    }
  })

/** An active fault. */
export type FaultRule = z.infer<typeof faultRuleSchema>

/** The value of a rule's setting: the rule's own value, or the default of the fault. */
export function faultSetting(rule: FaultRule, setting: string): number {
  const defaults: Record<string, number> = faultCatalogue[rule.name].settings
  const value = rule.settings?.[setting] ?? defaults[setting]
  if (value === undefined) throw new Error(`read setting ${setting} of fault ${rule.name}: it has none`)
  return value
}

/** `--plain`: nothing of what our service says beyond the interface. */
export const plainRules: readonly FaultRule[] = plainFaults.map((name) => ({ name, rate: 1 }))

/**
 * Parses `name=rate` as the command line takes it, with more settings after commas:
 * `throttle=0.2,retryAfterSeconds=5,operations=scoresOf+uploadLogs,profiles=SampleProfile-runner-1,timesMax=3`.
 */
export function parseFaultRule(text: string): FaultRule {
  const [head = '', ...rest] = text.split(',')
  const [name = '', rate = '1'] = head.split('=')
  if (!isFaultName(name))
    throw new UsageProblem(`read fault "${text}": no fault is named "${name}"`, {
      hint: `The faults are: ${faultNames.join(', ')}.`,
    })
  const rule: Record<string, unknown> = { name, rate: Number(rate) }
  const settings: Record<string, number> = {}
  for (const part of rest) {
    const [key = '', value = ''] = part.split('=')
    if (key === 'operations' || key === 'profiles' || key === 'days') rule[key] = value.split('+')
    else if (key === 'timesMax') rule[key] = Number(value)
    else settings[key] = Number(value)
  }
  if (Object.keys(settings).length > 0) rule['settings'] = settings
  const parsed = faultRuleSchema.safeParse(rule)
  if (parsed.success) return parsed.data
  const reasons = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  throw new UsageProblem(`read fault "${text}": ${reasons.join('; ')}`, {
    hint: 'Write name=rate with a rate from 0 to 1, and after commas settings, operations=a+b, profiles=a+b, days=a+b or timesMax=n.',
  })
}
