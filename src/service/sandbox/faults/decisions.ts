import type { OperationName } from '../../../contract/operations.ts'
import { fractionOf } from '../people/random.ts'
import { type FaultName, faults } from './catalogue.ts'
import type { Rule } from './rules.ts'

export type Asked = { operation: OperationName; profile: string | undefined }

/**
 * Which faults a request meets. Chance comes from the seed and from how many times this profile asked for this
 * operation before, so that a run that repeats its requests repeats its faults, whatever the order in which
 * different profiles' requests arrive.
 */
export type Faults = {
  /** The rules that strike this request, at most one a fault. Faults in records strike record by record: see `strikes`. */
  meet(asked: Asked): Rule[]
  /** The rules about records that look at this operation and profile. */
  aboutRecords(asked: Asked): Rule[]
  /** Whether a rule about records strikes this one: the same answer every time it is asked. */
  strikes(rule: Rule, recordId: string): boolean
  /** Says that a rule was carried out. */
  count(rule: Rule): void
  set(rules: readonly Rule[]): void
  add(rule: Rule): void
  remove(name: FaultName): void
  list(): Array<Rule & { met: number }>
}

/** Faults that strike whole requests although they are about what is told. */
const wholeAnswer: readonly FaultName[] = ['empty-200', 'exclusive-end', 'old-names', 'bare-token', 'pages-from-zero']

type Active = { rule: Rule; met: number; asked: Map<string, number> }

export function createFaults(options: { seed: string; rules: readonly Rule[] }): Faults {
  const { seed } = options
  let active: Active[] = []
  const start = (rule: Rule): Active => ({ rule, met: 0, asked: new Map() })
  const isOver = ({ rule, met }: Active) => rule.timesMax !== undefined && met >= rule.timesMax
  const looksAt = ({ rule }: Active, { operation, profile }: Asked) =>
    (rule.operations?.includes(operation) ?? true) &&
    (rule.profiles === undefined || (profile !== undefined && rule.profiles.includes(profile)))
  const isByRecord = (rule: Rule) => faults[rule.name].when === 'records' && !wholeAnswer.includes(rule.name)

  const draw = (one: Active, asked: Asked): boolean => {
    const key = `${asked.operation}/${asked.profile ?? ''}`
    const before = one.asked.get(key) ?? 0
    one.asked.set(key, before + 1)
    return fractionOf(`${seed}/${one.rule.name}/${key}/${before}`) < one.rule.rate
  }
  const struck = (asked: Asked): Rule[] => {
    const rules = new Map<FaultName, Rule>()
    for (const one of active) {
      if (isByRecord(one.rule) || isOver(one) || !looksAt(one, asked)) continue
      if (draw(one, asked) && !rules.has(one.rule.name)) {
        rules.set(one.rule.name, one.rule)
        one.met += 1
      }
    }
    return [...rules.values()]
  }

  active = options.rules.map(start)
  return {
    meet: struck,
    aboutRecords: (asked) =>
      active.filter((one) => isByRecord(one.rule) && !isOver(one) && looksAt(one, asked)).map((one) => one.rule),
    strikes: (rule, recordId) => fractionOf(`${seed}/${rule.name}/${recordId}`) < rule.rate,
    count: (rule) => {
      const one = active.find((candidate) => candidate.rule === rule)
      if (one) one.met += 1
    },
    set: (rules) => {
      active = rules.map(start)
    },
    add: (rule) => {
      active = [...active, start(rule)]
    },
    remove: (name) => {
      active = active.filter((one) => one.rule.name !== name)
    },
    list: () => active.map(({ rule, met }) => ({ ...rule, met })),
  }
}
