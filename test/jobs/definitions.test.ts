import { expect, test } from 'vitest'
import { backfill } from '../../jobs/backfill.ts'
import { backfillProfile } from '../../jobs/backfill-profile.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { nightly } from '../../jobs/nightly.ts'
import { registerProfile } from '../../jobs/register-profile.ts'
import { sentinel } from '../../jobs/sentinel.ts'
import { sweep } from '../../jobs/sweep.ts'
import { sync } from '../../jobs/sync.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import { verifyProfile } from '../../jobs/verify-profile.ts'
import { HOUR, MINUTE } from '../../src/base/time/units.ts'
import type { Job } from '../../src/pipeline/work/job.ts'
import type { Producer } from '../../src/pipeline/work/producer.ts'

// Names are stored: in orders, runs, slots and the queue. A job of another name would be unknown to what is stored.
test.for<[Job, string, number, number]>([
  [backfillProfile, 'backfill-profile', 6, HOUR],
  [discoverProfiles, 'discover-profiles', 6, HOUR],
  [eraseProfile, 'erase-profile', 10, 5 * MINUTE],
  [registerProfile, 'register-profile', 6, 2 * MINUTE],
  [syncProfile, 'sync-profile', 6, 10 * MINUTE],
  [verifyProfile, 'verify-profile', 6, 10 * MINUTE],
])('%o is stored as %s, tried %i times, and given %i ms', ([job, name, attemptsMax, timeoutMs]) => {
  expect(job).toMatchObject({ name, attemptsMax, timeoutMs })
})

test.for<[Producer, string, Job]>([
  [backfill, 'backfill', backfillProfile],
  [nightly, 'nightly', syncProfile],
  [sentinel, 'sentinel', verifyProfile],
  [sweep, 'sweep', syncProfile],
  [sync, 'sync', syncProfile],
])('%o is stored as %s, and enqueues its job', ([producer, name, job]) => {
  expect(producer).toMatchObject({ name, job })
})

test.for<[Job, object]>([
  [backfillProfile, { from: 1, to: 2 }],
  [eraseProfile, {}],
  [registerProfile, {}],
  [syncProfile, {}],
  [verifyProfile, { seed: 's', upTo: '9' }],
])('%o takes the id of any profile, and no empty one', ([{ payload }, more]) => {
  for (const profileId of ['7', '123456']) expect(payload.safeParse({ ...more, profileId }).success).toBe(true)
  for (const profileId of ['', 7, undefined]) expect(payload.safeParse({ ...more, profileId }).success).toBe(false)
})

test('the slot of a schedule is kept in the params of its run', () => {
  const slotAt = '2026-03-10T03:00:00Z'

  expect(nightly.params.parse({ slotAt })).toEqual({ slotAt })
  expect(sweep.params.parse({ slotAt })).toEqual({ slotAt })
})
