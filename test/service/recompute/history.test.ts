import fc from 'fast-check'
import { expect } from 'vitest'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import type { DemographicInput } from '../../../src/base/contract/demographic.ts'
import { DAY } from '../../../src/base/time/units.ts'
import type { Demographics } from '../../../src/service/derive/model/demographics.ts'
import { writeDemographics } from '../../../src/service/store/profile-metadata.ts'
import { test } from '../../support/fixtures.ts'
import { anyLogs, asOfMs } from '../derive/arbitrary-logs.ts'
import { inputOf, unknownDemographics } from '../derive/made-logs.ts'
import { createProfile, recordsAtOnce, remove, servedRecords, upload, withRecompute } from './recompute-world.ts'

/**
 * An action on a range of a person's logs, up to nine days of passing time, or a change of demographics.
 */
const anyDeed = fc.record({
  what: fc.constantFrom('send', 'send', 'change', 'remove', 'derive', 'wait', 'tell'),
  from: fc.double({ min: 0, max: 0.9, noNaN: true }),
  share: fc.double({ min: 0.05, max: 0.6, noNaN: true }),
})

const personOf = (from: number, share: number): Demographics => ({
  birthDate: from < 0.3 ? null : `${1940 + Math.floor(from * 70)}-04-01`,
  age: null,
  gender: share < 0.3 ? 'female' : 'male',
})

/** A person's logs in any order, and the actions on them. */
const anyHistory = anyLogs
  .map((logs) => [...new Map(logs.map((log) => [log.id, inputOf(log)])).values()])
  .chain((logs) =>
    fc.record({
      logs: fc.shuffledSubarray(logs, { minLength: logs.length }),
      deeds: fc.array(anyDeed, { minLength: 4, maxLength: 9 }),
    }),
  )

test('after any history of uploads, corrections and deletions only the remaining logs count', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, new Date(asOfMs).toISOString(), async (world) => {
    let [removed, waited, told] = [0, 0, 0]
    await fc.assert(
      fc.asyncProperty(anyHistory, async ({ logs, deeds }) => {
        const profileId = await createProfile(world.pool)
        const left = new Map<string, DataLogInput>()
        let person = unknownDemographics
        world.clock.now = asOfMs - 35 * DAY
        for (const { what, from, share } of deeds) {
          const some = logs.slice(Math.floor(from * logs.length), Math.ceil((from + share) * logs.length))
          const sent = what === 'change' ? some.map((log) => ({ ...log, value: log.value * 2 })) : some
          if (what === 'derive') await world.recompute.idle()
          else if (what === 'wait') {
            world.clock.now += Math.floor((from + share / 6) * 9 * DAY)
            waited += 1
          } else if (what === 'tell') {
            person = personOf(from, share)
            const fields = person as DemographicInput // a person is a part of what may be said
            await writeDemographics(world.pool, {
              profileId,
              fields,
              mode: 'replace',
              nowAt: new Date(world.clock.now),
            })
            told += 1
          } else if (what === 'remove') {
            await remove(world, profileId, some)
            for (const { id } of some) removed += left.delete(id) ? 1 : 0
          } else {
            await upload(world, profileId, sent)
            for (const log of sent) left.set(log.id, log)
          }
        }
        await world.recompute.idle()

        expect(await servedRecords(world, profileId)).toEqual(
          recordsAtOnce(profileId, [...left.values()], world.clock.now, person),
        )
      }),
      { numRuns: 60, endOnFailure: true },
    )
    // Sixty histories without an action of one kind would prove nothing about that kind.
    expect(removed).toBeGreaterThan(0)
    expect(waited).toBeGreaterThan(0)
    expect(told).toBeGreaterThan(0)
  })
})
