import { DAY } from '../../src/base/time/units.ts'
import type { Parcel } from '../../src/pipeline/transfer/parcel.ts'
import type { PlannedProfile, ProfileState } from '../../src/pipeline/transfer/planned-profile.ts'
import type { JobContext } from '../../src/pipeline/work/job.ts'
import { adaPlanned, contextWith, dueDays, partOf, readingOf } from './job-context.ts'

export const nowMs = 100 * DAY
export const profileId = '7'

type JobWorld = {
  /** Undefined: the warehouse knows no such profile. */
  state?: ProfileState | undefined
  waiting?: PlannedProfile['waiting']
  upstream?: Partial<JobContext['upstream']>
  profiles?: Partial<JobContext['profiles']>
  signal?: AbortSignal
  /** The number of plans after which the warehouse no longer knows the profile. */
  erasedAfterPlans?: number
}

/** A job context that notes what is done, in order. Two windows are due. */
export function openJobWorld({ state, waiting = [], erasedAfterPlans = 99, ...given }: JobWorld) {
  const acts: string[] = []
  const plans: object[] = []
  /** How each registration and each erasure was asked of upstream. */
  const options: object[] = []
  const act = <T>(words: string, value: T) => {
    acts.push(words)
    return value
  }
  let underWay: string | undefined
  /** An act that takes a turn: one that begins before the one before it has ended is noted as that. */
  const step = async <T>(words: string, value: T) => {
    acts.push(underWay === undefined ? words : `${words} during ${underWay}`)
    underWay = words
    await new Promise(setImmediate)
    underWay = undefined
    return value
  }
  const context = contextWith({
    ...(given.signal ? { signal: given.signal } : {}),
    ledger: partOf<JobContext['ledger']>({
      async plan(asked) {
        plans.push(asked)
        acts.push('plan')
        if (asked.profileId !== profileId || plans.length > erasedAfterPlans) return undefined
        const due = asked.streams?.length === 0 ? [] : dueDays(2, { generation: plans.length })
        return state && { profile: { ...adaPlanned, state, waiting }, due }
      },
    }),
    outbox: partOf<JobContext['outbox']>({
      readWaiting: async () => ({ parcels: [parcel], more: false }),
      markSent: async () => act('mark sent', undefined),
    }),
    writer: {
      store: async ({ generation }) =>
        act(`store of plan ${generation}`, { outcome: 'stored', read: 3, written: 2, invalid: 0 }),
    },
    upstream: partOf<JobContext['upstream']>({
      read: async () => readingOf(),
      pushItems: async () => act('push', undefined),
      register: async (_, how) => step('register', void options.push(how)),
      profile: async (externalId) => step('ask for it', { externalId }),
      deleteProfiles: async (ids, how) => step(`delete ${ids} upstream`, void options.push(how)),
      forgetToken: async (id) => step(`forget token of ${id}`, undefined),
      ...given.upstream,
    }),
    profiles: partOf<JobContext['profiles']>({
      setState: async (_, to) => step(`set ${to}`, true),
      beginRegistration: async () => step('begin registration', true),
      endRegistration: async () => step('end registration', undefined),
      registrationLeftMs: async () => 0,
      erase: async () =>
        step('erase', [
          { table: 'scores', rows: 4 },
          { table: 'tags', rows: 3 },
        ] as never),
      ...given.profiles,
    }),
    forgetJobs: async () => step('forget jobs', 1),
  })
  return { acts, plans, options, context }
}

const parcel: Parcel = {
  id: 'p',
  body: '1',
  bytes: 1,
  sizes: '1',
  takenOut: [],
  waiting: 1,
  mode: 'patch',
  startAtMs: 0,
  endAtMs: 1,
}

export const fails = (error: Error) => () => Promise.reject(error)
export const endOf = (job: Promise<unknown>) => job.catch((error: unknown) => error)
