import type { Log } from '../../log.ts'
import type { Cohort } from '../derive/cohort.ts'
import type { Pool } from '../store/pool.ts'
import { dueProfiles, noteFailure } from '../store/recompute.ts'
import { recomputeProfile } from './profile.ts'

export type RoundOptions = {
  pool: Pool
  log: Log
  now: Date
  profilesMax: number
  /** Told before each profile. */
  begin?(profileId: string): void
  cohortOf(accountId: string): Promise<Cohort | null>
}

/** What one round did. `more` when there may be something left that is due now. */
export type Round = { profiles: number; written: number; dropped: number; failed: number; more: boolean }

/** Derives the profiles that have waited longest. One that fails is put off with its reason and stops no other. */
export async function runRound({ pool, log, now, profilesMax, begin, cohortOf }: RoundOptions): Promise<Round> {
  const due = await dueProfiles(pool, { now, countMax: profilesMax })
  const round = { profiles: 0, written: 0, dropped: 0, failed: 0, more: false }
  for (const profileId of due) {
    begin?.(profileId)
    try {
      const done = await recomputeProfile(pool, { profileId, now, cohortOf })
      if (done === 'busy' || done === 'gone') continue
      round.profiles += 1
      round.written += done.written
      round.dropped += done.dropped
    } catch (error) {
      round.failed += 1
      log.error({ profileId, err: error }, 'could not derive a profile, will try again')
      await noteFailure(pool, { profileId, now })
    }
  }
  // A round that got nowhere ends the rush: whoever is busy elsewhere, or put off, is met again at the next tick.
  round.more = round.profiles > 0
  return round
}
