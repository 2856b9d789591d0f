import { z } from 'zod'
import { type OperationName, operations } from '../../../contract/operations.ts'
import { UsageProblem } from '../../../errors.ts'
import { type FaultName, faultNames, faults, isFaultName } from './catalogue.ts'

/** One fault that is switched on: how often, where, for whom, and how many times at most. */
export type Rule = {
  name: FaultName
  /** The share of requests, or for faults in records the share of records, that meet it: 0 to 1. */
  rate: number
  /** Absent: all of them. */
  operations?: OperationName[] | undefined
  /** externalIds; absent: everybody. */
  profiles?: string[] | undefined
  /** After so many it stops by itself; absent: never. */
  timesMax?: number | undefined
  settings?: Record<string, number> | undefined
}

const operationNames = Object.keys(operations) as [OperationName, ...OperationName[]] // the keys of a literal are its names
const [firstName = 'latency', ...otherNames] = faultNames

export const ruleSchema = z
  .object({
    name: z.enum([firstName, ...otherNames], { error: `must be one of ${faultNames.join(', ')}` }),
    rate: z.number().min(0).max(1).default(1),
    operations: z.array(z.enum(operationNames, { error: `must be one of ${operationNames.join(', ')}` })).optional(),
    profiles: z.array(z.string()).optional(),
    timesMax: z.int().min(1).optional(),
    settings: z.record(z.string(), z.number().min(0)).optional(),
  })
  .superRefine((rule, context) => {
    const known = Object.keys(faults[rule.name].settings)
    for (const setting of Object.keys(rule.settings ?? {})) {
      if (known.includes(setting)) continue
      const message = `${rule.name} has ${known.length ? `the settings ${known.join(', ')}` : 'no settings'}`
      context.addIssue({ code: 'custom', path: ['settings', setting], message })
    }
  })

/** What a rule's setting is: its own, or the fault's default. */
export function settingOf(rule: Rule, setting: string): number {
  const defaults: Record<string, number> = faults[rule.name].settings
  const value = rule.settings?.[setting] ?? defaults[setting]
  if (value === undefined) throw new Error(`read setting ${setting} of fault ${rule.name}: it has none`)
  return value
}

/**
 * Reads `name=rate` as it stands on a command line, with more after commas:
 * `throttle=0.2,retryAfterSeconds=5,operations=scoresOf+uploadLogs,profiles=SampleProfile-runner-1,timesMax=3`.
 */
export function parseFault(text: string): Rule {
  const [head = '', ...rest] = text.split(',')
  const [name = '', rate = '1'] = head.split('=')
  if (!isFaultName(name))
    throw new UsageProblem(`read fault "${text}": there is none named "${name}"`, {
      hint: `The faults are: ${faultNames.join(', ')}.`,
    })
  const rule: Record<string, unknown> = { name, rate: Number(rate) }
  const settings: Record<string, number> = {}
  for (const part of rest) {
    const [key = '', value = ''] = part.split('=')
    if (key === 'operations' || key === 'profiles') rule[key] = value.split('+')
    else if (key === 'timesMax') rule[key] = Number(value)
    else settings[key] = Number(value)
  }
  if (Object.keys(settings).length > 0) rule['settings'] = settings
  const parsed = ruleSchema.safeParse(rule)
  if (parsed.success) return parsed.data
  const reasons = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  throw new UsageProblem(`read fault "${text}": ${reasons.join('; ')}`, {
    hint: 'Write name=rate with a rate from 0 to 1, and after commas settings, operations=a+b, profiles=a+b or timesMax=n.',
  })
}
