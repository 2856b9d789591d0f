import type { DerivationState } from '../../src/contract/derivation-state.ts'
import { NotThere, Rejected, RetryLater, Unanswered } from '../../src/errors.ts'
import { isInside } from '../../src/ledger/judge.ts'
import type { Span } from '../../src/time/spans.ts'
import type { PushItems } from '../../src/upstream/push-items.ts'
import type { JobContext } from '../../src/work/job.ts'
import type { Ask, Chance } from './stage.ts'

/** Small numbers, so that everything meets everything: a day is some 10, the past is 60 long. */
export const BEGIN = 1000
export const HISTORY = 60
export const SETTLE = 12
/** The longest that upstream derives from a push where nobody but the settle time tells when it has. */
const LATENESS_MAX = SETTLE - 1
/** How long a request may be under way after its worker died. */
export const UNDER_WAY_MAX = 20
/** How far a worker's clock may be ahead of the database's. */
export const SKEW = 3
const NAMES = 8
/** The subject of a log that upstream refuses. */
export const BAD = -1
/** Few, so that what changes often changes back. */
export const VALUES = 3
/** A record as long as life. Every answer of an upstream that tells what touches a window holds it. */
export const LIFELONG = 0

export type Truth = Span & { readonly name: number; value: number | undefined; everLost: boolean }
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

type Circumstances = { chance: Chance; now: () => number; manner: Manner; wording: Wording }

/** A Profile Service that fails at random, loses answers, and changes what has not settled. */
export function createUpstream({ chance, now, manner, wording }: Circumstances) {
  const people = new Map<string, UpstreamProfile>()
  let calm = false

  function add(externalId: string, state: UpstreamProfile['state']): void {
    const truth = new Map<number, Truth>()
    for (let name = 1; name <= NAMES; name += 1) {
      const from = BEGIN - HISTORY + chance(HISTORY + 10)
      truth.set(name, {
        name,
        startMs: from,
        endMs: from + (chance(2) === 0 ? chance(15) : 0),
        value: chance(VALUES),
        everLost: false,
      })
    }
    if (manner !== 'beginning')
      truth.set(LIFELONG, { name: LIFELONG, startMs: 0, endMs: 1e9, value: 1, everLost: false })
    people.set(externalId, { state, registeredBy: undefined, truth, changes: new Map() })
  }

  const thereOf = (externalId: string): UpstreamProfile => {
    const there = people.get(externalId)
    if (!there) throw new Error('nobody ever had this name')
    derive(there)
    const removed = there.state === 'removed' && chance(2) === 0
    if (there.state !== 'known') throw new NotThere('not known upstream', { removed })
    return there
  }

  function derive(there: UpstreamProfile): void {
    for (const change of there.changes.values()) {
      const one = there.truth.get(change.name)
      if (!one || change.done || change.at > now()) continue
      one.value = change.value
      change.done = true
    }
  }

  /** By a heavy-tailed law: half of what was pushed is derived at once, some of it very late. */
  function lateness(): number {
    const late = 2 ** chance(7) - 1
    return wording === 'a word' ? late : Math.min(late, LATENESS_MAX)
  }

  function wordOn(there: UpstreamProfile, window: Span): DerivationState | undefined {
    if (wording === 'no word' || (wording === 'a word at times' && chance(2) === 0)) return undefined
    const touches = ({ name }: Change) => {
      const one = there.truth.get(name)
      return one !== undefined && one.startMs <= window.endMs && one.endMs >= window.startMs
    }
    return [...there.changes.values()].some((change) => !change.done && touches(change)) ? 'pending' : 'finished'
  }

  function tell(there: UpstreamProfile, window: Span): Truth[] {
    return [...there.truth.values()].filter((one) => {
      if (one.value === undefined || one.startMs > window.endMs || one.endMs < window.startMs) return false
      const within = isInside(one, window) && one.endMs < window.endMs
      if (manner === 'beginning')
        return one.startMs >= window.startMs && (one.startMs < window.endMs || chance(2) === 0)
      return (
        within || manner === 'touching' || (one.startMs < window.endMs && one.endMs > window.startMs) || chance(2) === 0
      )
    })
  }

  /** Before anything was done, and after it was. */
  const stumble = () => {
    const dice = calm ? 99 : chance(40)
    if (dice === 0) throw new RetryLater('busy', { waitMs: 1 })
    if (dice === 1) throw new Unanswered('lost on its way there')
  }
  const lose = () => {
    if (!calm && chance(20) === 0) throw new Unanswered('lost on its way back')
  }

  function take(there: UpstreamProfile, items: PushItems): void {
    const logs = JSON.parse(`[${'joined' in items ? items.joined : items.join(',')}]`)
    const bad = logs.findIndex(({ name }: { name: number }) => name === BAD)
    if (bad >= 0) {
      const details = chance(2) === 0 ? [{ path: `[${bad}]`, reasons: ['no such record'] }] : []
      throw new Rejected('a log is bad', { status: 400, details })
    }
    for (const { id, name, value } of logs) {
      // The same log again changes nothing.
      const at = now() + lateness()
      if (!there.changes.has(id)) there.changes.set(id, { item: id, name, value, at, done: false })
    }
  }

  const unheardOf = async (): Promise<never> => {
    throw new Error('this world has no such operation')
  }

  type Asker = { ask: Ask; worker: number; clock: () => number }

  function verbs({ ask, worker, clock }: Asker): JobContext['upstream'] {
    const write = <T>(name: string, effect: () => T) =>
      ask(name, () => {
        stumble()
        const value = effect()
        lose()
        return value
      })
    return {
      read(_stream, { externalId, window }) {
        const sentAtMs = clock()
        return ask('read', () => {
          stumble()
          const there = thereOf(externalId)
          if (!calm && chance(30) === 0) throw new Rejected('no such window', { status: 400 })
          if (!window) throw new Error('the one stream of this world is read by windows')
          const records = tell(there, window).map((one) => ({ raw: JSON.stringify(one), fields: { ...one } }))
          const word = wordOn(there, window)
          return {
            records,
            invalid: [],
            sentAtMs,
            serverAtMs: now() - chance(3),
            word,
            tag: undefined,
            unchanged: false,
          }
        })
      },
      pushItems: ({ externalId }, { items }) => write('push', () => take(thereOf(externalId), items)),
      register({ externalId }) {
        const askedAt = now()
        return write('register', () => {
          if (now() - askedAt > UNDER_WAY_MAX / 2) throw new Unanswered('given up on its way')
          const there = people.get(externalId)
          if (!there || there.state === 'known') throw new Rejected('registered already', { status: 400 })
          there.state = 'known'
          there.registeredBy = worker
        })
      },
      profile: (externalId) => write('ask for profile', () => ({ externalId, state: thereOf(externalId).state })),
      deleteProfiles: (externalIds) =>
        write('delete', () => {
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
    add,
    verbs,
    derive,
    /** From now on nothing fails. */
    calmDown: () => {
      calm = true
    },
    /** Changes its mind about what has not settled: another value, gone, or back. */
    revise(externalId: string): void {
      const one = people.get(externalId)?.truth.get(1 + chance(NAMES))
      if (!one || one.startMs > now() || one.endMs + SETTLE <= now()) return
      one.value = chance(3) === 0 ? undefined : chance(VALUES)
      if (one.value === undefined) one.everLost = true
    },
  }
}
