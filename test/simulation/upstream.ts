import { hash } from 'node:crypto'
import type { DerivationState } from '../../src/base/contract/derivation-state.ts'
import type { OperationName } from '../../src/base/contract/operations.ts'
import { NotThere, Rejected, Unanswered } from '../../src/base/errors.ts'
import type { Span } from '../../src/base/time/spans.ts'
import { SECOND } from '../../src/base/time/units.ts'
import { isInside } from '../../src/pipeline/ledger/judge.ts'
import type { InvalidRecord } from '../../src/pipeline/transfer/reading.ts'
import type { PushItems } from '../../src/pipeline/upstream/push-items.ts'
import type { JobContext } from '../../src/pipeline/work/job.ts'
import { UNDER_WAY_MAX, UNIT } from './circumstances.ts'
import { answers, mayHaveActed, problemAfter, refusalOfItem, saysRemoved } from './faults.ts'
import { sourceRecordOf, type Truth } from './records.ts'
import type { Situations } from './situations.ts'
import type { Ask, Chance } from './stage.ts'
import { reviseTruth, truthOfProfile } from './truth.ts'

/** The longest time that upstream derives from a push, where it does not say when it has. In units. */
const LATENESS_MAX = 11
/** The subject of a log that upstream refuses. */
export const BAD = -1

/** The record that upstream derives from a log, some time after it was taken. */
type Change = { readonly item: string; readonly name: number; readonly value: number; at: number; done: boolean }

export type UpstreamProfile = {
  state: 'unknown' | 'known' | 'removed'
  registeredBy: number | undefined
  readonly truth: Map<number, Truth>
  readonly changes: Map<string, Change>
}

/** How upstream chooses what belongs to a window. */
export const manners = ['touching', 'touching, one or other end exclusive', 'beginning'] as const
export type Manner = (typeof manners)[number]

/** Whether upstream's answers say that it still derives. */
export const wordings = ['no word', 'a word', 'a word at times'] as const
type Wording = (typeof wordings)[number]

export type SimulatedUpstream = ReturnType<typeof createUpstream>

type Circumstances = {
  readonly chance: Chance
  readonly now: () => number
  readonly manner: Manner
  readonly wording: Wording
  readonly givesTags: boolean
  /** It changes records at times whose days had settled. */
  readonly revisesLate: boolean
  /** Whether an answer may lack the Date by which a clock that is ahead is noticed. */
  readonly hidesDate: boolean
  readonly situations: Situations
}

/** A Profile Service that fails at random, loses answers, and changes what has not settled. */
export function createUpstream(circumstances: Circumstances) {
  const { chance, now, manner, wording, situations } = circumstances
  const people = new Map<string, UpstreamProfile>()
  let calm = false

  const thereOf = (externalId: string): UpstreamProfile => {
    const there = people.get(externalId)
    if (!there) throw new Error('nobody ever had this name')
    derive(there)
    // At rest it says so always: else one world in a thousand never gets to hear it.
    const removed = there.state === 'removed' && (calm || chance(2) === 0)
    if (there.state !== 'known') throw new NotThere('not known upstream', { removed })
    return there
  }

  function derive(there: UpstreamProfile): void {
    for (const change of there.changes.values()) {
      const one = there.truth.get(change.name)
      if (!one || change.done || change.at > now()) continue
      one.value = change.value
      change.done = true
      // The log named the period that the record had: what it touches may not reach to where the record ends now.
      if (one.everGrew) one.revisedLate = true
    }
  }

  /** By a heavy-tailed law: half of what was pushed is derived at once, some of it very late. */
  function lateness(): number {
    const late = 2 ** chance(7) - 1
    return UNIT * (wording === 'a word' ? late : Math.min(late, LATENESS_MAX))
  }

  function wordOn(there: UpstreamProfile, window: Span): DerivationState | undefined {
    if (wording === 'no word' || (wording === 'a word at times' && chance(2) === 0)) return undefined
    const touches = ({ name }: Change) => {
      const one = there.truth.get(name)
      return one !== undefined && one.startMs <= window.endMs && one.endMs >= window.startMs
    }
    return [...there.changes.values()].some((change) => !change.done && touches(change)) ? 'pending' : 'finished'
  }

  function recordsOf(there: UpstreamProfile, stream: string, window: Span): Truth[] {
    return [...there.truth.values()].filter((one) => {
      if (one.stream !== stream || one.value === undefined) return false
      if (stream === 'demographics') return true
      if (one.startMs > window.endMs || one.endMs < window.startMs) return false
      const within = isInside(one, window) && one.endMs < window.endMs
      if (manner === 'beginning')
        return one.startMs >= window.startMs && (one.startMs < window.endMs || chance(2) === 0)
      return (
        within || manner === 'touching' || (one.startMs < window.endMs && one.endMs > window.startMs) || chance(2) === 0
      )
    })
  }

  /** One of the answers that the client's table names, before the request was carried out or after it. */
  function fail(operation: OperationName, acted: boolean): void {
    if (calm || chance(14) > 0) return
    const answer = answers[chance(answers.length)] ?? 'lost'
    const problem = problemAfter(answer, operation, now())
    if (saysRemoved(problem) || mayHaveActed(answer) !== acted) return
    situations.saw(`upstream answers ${answer}`)
    throw problem
  }

  function take(there: UpstreamProfile, items: PushItems): void {
    const logs = JSON.parse(`[${'joined' in items ? items.joined : items.join(',')}]`)
    const bad = logs.findIndex(({ name }: { name: number }) => name === BAD)
    if (bad >= 0) throw refusalOfItem(chance(2) === 0 ? bad : undefined)
    for (const { id, name, value } of logs) {
      // The same log again changes nothing; another form of it takes its place.
      if (there.changes.get(id)?.value === value) {
        situations.saw('a push repeated after its answer was lost')
        continue
      }
      there.changes.set(id, { item: id, name, value, at: now() + lateness(), done: false })
    }
  }

  const unheardOf = async (): Promise<never> => {
    throw new Error('this world has no such operation')
  }

  type Asker = { ask: Ask; worker: number; clock: () => number }

  function verbs({ ask, worker, clock }: Asker): JobContext['upstream'] {
    const write = <T>(name: string, operation: OperationName, effect: () => T) =>
      ask(name, () => {
        fail(operation, false)
        const value = effect()
        fail(operation, true)
        return value
      })
    return {
      read(stream, { externalId, window, heldTag }) {
        const sentAtMs = clock()
        return ask('read', () => {
          fail('scoresOf', false)
          fail('scoresOf', true)
          const there = thereOf(externalId)
          const span = window ?? { startMs: 0, endMs: 0 }
          const word = wordOn(there, span)
          const given = recordsOf(there, stream.name, span).map(sourceRecordOf)
          const tag = circumstances.givesTags ? tagOf(given) : undefined
          const unchanged = tag !== undefined && tag === heldTag
          return {
            records: unchanged ? [] : given,
            invalid: unchanged || calm || chance(25) > 0 ? [] : [invalidRecord(chance)],
            sentAtMs,
            serverAtMs:
              circumstances.hidesDate && chance(4) === 0 ? undefined : Math.floor(now() - chance(3) * 10 * SECOND),
            word: stream.kind === 'snapshot' && word === 'pending' ? 'finished' : word,
            tag,
            unchanged,
          }
        })
      },
      pushItems: ({ externalId }, { items }) => write('push', 'uploadLogs', () => take(thereOf(externalId), items)),
      register({ externalId }) {
        const askedAt = now()
        return write('register', 'register', () => {
          if (now() - askedAt > UNDER_WAY_MAX / 2) throw new Unanswered('given up on its way')
          const there = people.get(externalId)
          if (!there || there.state === 'known') throw new Rejected('registered already', { status: 400 })
          there.state = 'known'
          there.registeredBy = worker
        })
      },
      profile: (externalId) =>
        write('ask for profile', 'profile', () => ({ externalId, state: thereOf(externalId).state })),
      deleteProfiles: (externalIds) =>
        write('delete', 'deleteProfiles', () => {
          for (const there of externalIds.map((externalId) => people.get(externalId))) {
            if (there?.state === 'known') there.state = 'removed'
          }
        }),
      forgetToken: () => ask('forget', () => undefined),
      pushSnapshot: unheardOf,
      async *searchProfiles() {
        yield await unheardOf()
      },
    }
  }

  return {
    people,
    verbs,
    derive,
    add(externalId: string, state: UpstreamProfile['state']): void {
      const truth = truthOfProfile(chance, manner !== 'beginning')
      people.set(externalId, { state, registeredBy: undefined, truth, changes: new Map() })
    },
    remove(externalId: string): void {
      const there = people.get(externalId)
      if (there?.state === 'known') there.state = 'removed'
    },
    /** From now on nothing fails. */
    calmDown: () => {
      calm = true
    },
    /** Changes its mind about what has not settled: another value, gone, back, or longer. */
    revise: (externalId: string): void =>
      reviseTruth(people.get(externalId)?.truth ?? new Map(), {
        chance,
        nowMs: now(),
        late: circumstances.revisesLate,
      }),
  }
}

/** Strong: it names the exact text of the answer. */
const tagOf = (records: readonly { raw: string }[]): string =>
  `"${hash('md5', records.map(({ raw }) => raw).join('\n'), 'hex')}"`

const invalidRecord = (chance: Chance): InvalidRecord => {
  const which = chance(2)
  return { path: 'type', reason: `no such type ${which}`, raw: `{"type":${which}}` }
}
