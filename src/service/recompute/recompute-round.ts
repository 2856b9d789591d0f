import type { Log } from '../../log.ts'
import type { Cohort } from '../derive/model/cohort.ts'
import { listDueProfiles, recordDerivationFailure } from '../store/derivation-queue.ts'
import type { ServicePool } from '../store/service-pool.ts'
import { recomputeProfile } from './recompute-profile.ts'

type RecomputeRoundOptions = {
  pool: ServicePool
  log: Log
  nowAt: Date
  profilesMax: number
  /** The profiles that may be derived in this round; null for all. */
  among?: readonly string[] | null
  /** Called before each profile. */
  begin?(profileId: string): void
  cohortOf(accountId: string): Promise<Cohort | null>
}

/**
 * Derives the profiles that are due next and counts the profiles that it derived. A profile that fails is logged, backs
 * off, and stops no other profile.
 */
export async function runRecomputeRound({
  pool,
  log,
  nowAt,
  profilesMax,
  among = null,
  begin,
  cohortOf,
}: RecomputeRoundOptions): Promise<number> {
  const due = await listDueProfiles(pool, { nowAt, countMax: profilesMax, among })
  let derived = 0
  for (const profileId of due) {
    begin?.(profileId)
    try {
      if ((await recomputeProfile(pool, { profileId, nowAt, cohortOf })) === 'derived') derived += 1
    } catch (error) {
      log.error({ profileId, err: error }, 'could not derive a profile, will try again')
      await recordDerivationFailure(pool, { profileId, nowAt })
    }
  }
  return derived
}
