import fc from 'fast-check'
import { expect } from 'vitest'
import type { DataLogInput } from '../../src/contract/data-log.ts'
import type { DemographicInput } from '../../src/contract/demographic.ts'
import { type Person, unknownPerson } from '../../src/service/derive/log.ts'
import { writeDemographics } from '../../src/service/store/metadata.ts'
import { anyLogs, asOf, day } from '../derive/lives.ts'
import { inputOf } from '../derive/logs.ts'
import { test } from '../support/fixtures.ts'
import { createProfile, remove, saidAtOnce, saidOf, upload, withRecompute } from './profiles.ts'

/**
 * Something done with a stretch of somebody's logs; or time that passes, up to nine days of it; or something said of who
 * the person is.
 */
const anyDeed = fc.record({
  what: fc.constantFrom('send', 'send', 'change', 'remove', 'derive', 'wait', 'tell'),
  from: fc.double({ min: 0, max: 0.9, noNaN: true }),
  share: fc.double({ min: 0.05, max: 0.6, noNaN: true }),
})

const personOf = (from: number, share: number): Person => ({
  birthDate: from < 0.3 ? null : `${1940 + Math.floor(from * 70)}-04-01`,
  age: null,
  gender: share < 0.3 ? 'female' : 'male',
})

/** Somebody's logs in any order, and what becomes of them. */
const anyHistory = anyLogs
  .map((logs) => [...new Map(logs.map((log) => [log.id, inputOf(log)])).values()])
  .chain((logs) =>
    fc.record({
      logs: fc.shuffledSubarray(logs, { minLength: logs.length }),
      deeds: fc.array(anyDeed, { minLength: 4, maxLength: 9 }),
    }),
  )

test('whatever was sent, sent again, corrected and taken back, in whatever order: only what is left counts', async ({
  serviceUrl,
}) => {
  await withRecompute(serviceUrl, new Date(asOf).toISOString(), async (world) => {
    let [removed, waited, told] = [0, 0, 0]
    await fc.assert(
      fc.asyncProperty(anyHistory, async ({ logs, deeds }) => {
        const profileId = await createProfile(world.pool)
        const left = new Map<string, DataLogInput>()
        let person = unknownPerson
        world.clock.now = asOf - 35 * day
        for (const { what, from, share } of deeds) {
          const some = logs.slice(Math.floor(from * logs.length), Math.ceil((from + share) * logs.length))
          const sent = what === 'change' ? some.map((log) => ({ ...log, value: log.value * 2 })) : some
          if (what === 'derive') await world.recompute.idle()
          else if (what === 'wait') {
            world.clock.now += Math.floor((from + share / 6) * 9 * day)
            waited += 1
          } else if (what === 'tell') {
            person = personOf(from, share)
            const fields = person as DemographicInput // a person is a part of what may be said
            await writeDemographics(world.pool, { profileId, fields, mode: 'replace', now: new Date(world.clock.now) })
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

        expect(await saidOf(world, profileId)).toEqual(
          saidAtOnce(profileId, [...left.values()], world.clock.now, person),
        )
      }),
      { numRuns: 60, endOnFailure: true },
    )
    // Sixty histories in which nothing of a kind was ever done would show nothing of it.
    expect(removed).toBeGreaterThan(0)
    expect(waited).toBeGreaterThan(0)
    expect(told).toBeGreaterThan(0)
  })
}, 90_000)
