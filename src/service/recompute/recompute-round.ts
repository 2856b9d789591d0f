import type { Log } from '../../base/log.ts'
import type { Cohort } from '../derive/model/cohort.ts'
import type { ServicePool } from '../store/service-pool.ts'
import {
  beforeAllAccounts,
  listWaitingProfiles,
  recordDerivationFailure,
  wakeProfiles,
} from '../store/waiting-profiles.ts'
import { recomputeProfile } from './recompute-profile.ts'
import { createShares, type Shares } from './shares.ts'

/** The state that one round leaves to the next. */
type RoundMemory = { shares: Shares; afterAccountId: string }

export function createRoundMemory(): RoundMemory {
  return { shares: createShares(() => performance.now()), afterAccountId: beforeAllAccounts }
}

type RecomputeRoundOptions = {
  pool: ServicePool
  log: Log
  nowAt: Date
  profilesMax: number
  /** Which of how many threads this is: each begins with its own part of the profiles, so that two threads rarely choose the same profile. */
  place: ThreadPlace
  memory: RoundMemory
  /** The profiles that may be derived in this round; null for all. */
  among?: readonly string[] | null
  /** Aborted: no other profile is begun. */
  stopping?: AbortSignal
  /** Called before each profile. */
  begin?(profileId: string): void
  cohortOf(accountId: string): Promise<Cohort | null>
}

type ThreadPlace = { readonly index: number; readonly count: number }

/** The profiles of the thread's own part first, by the first bits of their random ids, and then all others. */
function ownFirst(profileIds: readonly string[], { index, count }: ThreadPlace): string[] {
  const isOwn = (profileId: string) => Number.parseInt(profileId.slice(0, 8), 16) % count === index
  return [...profileIds.filter(isOwn), ...profileIds.filter((profileId) => !isOwn(profileId))]
}

/**
 * Derives a portion of each of the profiles whose turn it is, and says whether there may be more to do. A profile that
 * fails is logged, backs off, and stops no other profile.
 */
export async function runRecomputeRound(options: RecomputeRoundOptions): Promise<boolean> {
  const { pool, log, nowAt, profilesMax, place, memory, among = null, stopping, begin, cohortOf } = options
  const startedMs = performance.now()
  await wakeProfiles(pool, nowAt)
  const { afterAccountId } = memory
  const { waiting, nextAfterAccountId } = await listWaitingProfiles(pool, { nowAt, among, afterAccountId })
  memory.afterAccountId = nextAfterAccountId
  const accounts = new Map(waiting.map(({ profileId, accountId }) => [profileId, accountId]))
  let [derived, begun] = [0, 0]
  for (const profileId of ownFirst(memory.shares.order(waiting), place)) {
    if (stopping?.aborted || begun >= profilesMax) break
    begin?.(profileId)
    const begunMs = performance.now()
    try {
      const outcome = await recomputeProfile(pool, { profileId, nowAt, cohortOf })
      if (outcome === 'derived') derived += 1
      // Another thread derives it; this thread continues with the next.
      if (outcome === 'busy') continue
    } catch (error) {
      log.error({ profileId, err: error }, 'could not derive a profile, will try again')
      const failedAt = new Date(nowAt.getTime() + performance.now() - startedMs)
      await recordDerivationFailure(pool, { profileId, nowAt: failedAt })
    }
    begun += 1
    memory.shares.charge({ profileId, accountId: accounts.get(profileId) ?? '' }, performance.now() - begunMs)
  }
  // Without progress the due profiles are locked elsewhere or back off until the next tick; other accounts may go on.
  return derived > 0 || nextAfterAccountId !== beforeAllAccounts
}
