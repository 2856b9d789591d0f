import type { OperationName } from '../../../base/contract/operations.ts'
import { hashFraction } from '../people/seeded-random.ts'
import { type FaultName, faultCatalogue } from './fault-catalogue.ts'
import { type FaultRule, singleRecordFaults } from './fault-rules.ts'

/** The one further route that a fault can strike: it is none of the operations. */
export const EXPLAIN = 'explain'

type FaultTarget = { operation: OperationName | typeof EXPLAIN; profile: string | undefined }

/**
 * Selects the faults that strike a request or a record. The draws follow from the seed and from the number of earlier
 * requests of the same profile to the same operation. A run that repeats its requests therefore meets the same faults,
 * in whatever order the requests of different profiles arrive.
 */
export type FaultSelector = ReturnType<typeof createFaultSelector>

/** `met` counts how often the rule struck; `requests` counts the requests by operation and profile. */
type ActiveRule = { rule: FaultRule; met: number; requests: Map<string, number> }

const activated = (rule: FaultRule): ActiveRule => ({ rule, met: 0, requests: new Map() })

const isOver = ({ rule, met }: ActiveRule) => rule.timesMax !== undefined && met >= rule.timesMax

const appliesTo = ({ rule }: ActiveRule, { operation, profile }: FaultTarget) =>
  (rule.name === 'without-explanations') === (operation === EXPLAIN) &&
  (rule.operations?.some((name) => name === operation) ?? true) &&
  (rule.profiles === undefined || (profile !== undefined && rule.profiles.includes(profile)))

const isOfFrame = ({ rule }: ActiveRule) => faultCatalogue[rule.name].when === 'frame'

const isByRecord = ({ rule }: ActiveRule) => singleRecordFaults.includes(rule.name)

export function createFaultSelector(options: { seed: string; rules: readonly FaultRule[] }) {
  const { seed } = options
  let active = options.rules.map(activated)

  const draw = ({ rule, requests }: ActiveRule, { operation, profile = '' }: FaultTarget): boolean => {
    const key = `${operation}/${profile}`
    const earlier = requests.get(key) ?? 0
    requests.set(key, earlier + 1)
    return hashFraction(`${seed}/${rule.name}/${key}/${earlier}`) < rule.rate
  }

  const select = (target: FaultTarget, mayStrike: (candidate: ActiveRule) => boolean) => {
    const selected = new Map<FaultName, FaultRule>()
    for (const candidate of active) {
      const { name } = candidate.rule
      if (!mayStrike(candidate) || isOver(candidate) || !appliesTo(candidate, target)) continue
      if (draw(candidate, target) && !selected.has(name)) {
        selected.set(name, candidate.rule)
        candidate.met += 1
      }
    }
    return [...selected.values()]
  }

  return {
    /** The rules that strike this request, at most one of each fault. Rules of single records and of the frame are not among them. */
    selectRules: (target: FaultTarget) =>
      select(target, (candidate) => !isByRecord(candidate) && !isOfFrame(candidate)),
    /** The rules that strike the frame of this answer, at most one of each fault. */
    frameRules: (target: FaultTarget) => select(target, isOfFrame),
    /** The rules that may strike single records of this operation and profile. */
    recordRules: (target: FaultTarget) =>
      active
        .filter((candidate) => isByRecord(candidate) && !isOver(candidate) && appliesTo(candidate, target))
        .map(({ rule }) => rule),
    /** Whether a rule strikes this record: the same answer at every call. */
    hitsRecord: (rule: FaultRule, recordId: string) => hashFraction(`${seed}/${rule.name}/${recordId}`) < rule.rate,
    /** Counts one application of a rule to a record. */
    countHit: (rule: FaultRule) => {
      const found = active.find((candidate) => candidate.rule === rule)
      if (found) found.met += 1
    },
    set: (rules: readonly FaultRule[]) => {
      active = rules.map(activated)
    },
    add: (rule: FaultRule) => {
      active = [...active, activated(rule)]
    },
    remove: (name: FaultName) => {
      active = active.filter(({ rule }) => rule.name !== name)
    },
    list: () => active.map(({ rule, met }) => ({ ...rule, met })),
  }
}
