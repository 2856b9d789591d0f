import { expect } from 'vitest'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import type { DerivedKind } from '../../../src/base/contract/derivation-state.ts'
import { parseInstant } from '../../../src/base/time/instant.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import type { Demographics } from '../../../src/service/derive/model/demographics.ts'
import { answerState } from '../../../src/service/recompute/answer-state.ts'
import { recomputeProfile } from '../../../src/service/recompute/recompute-profile.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'
import { type ClosedRange, createDerivedReader } from '../../../src/service/store/derived-reader.ts'
import { writeDemographics } from '../../../src/service/store/profile-metadata.ts'
import { setSourcePriority } from '../../../src/service/store/source-priority.ts'
import { test } from '../../support/fixtures.ts'
import { derive } from '../derive/derive-at-once.ts'
import { logOf, unknownDemographics } from '../derive/made-logs.ts'
import { createProfile, type RecomputeWorld, upload, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const lastMs = Date.parse(at)
const kinds: readonly [DerivedKind, ...DerivedKind[]] = ['score', 'biomarker', 'archetype', 'trend', 'comparison']
const [, , traveller] = samplePeople('answer state', 8)
if (!traveller) throw new Error('the sample people are gone')
const life = logsOf(traveller, { startMs: lastMs - 33 * DAY, endMs: lastMs }).filter((_, place) => place % 8 === 0)

type Served = Record<string, unknown>
/** All that the service has acknowledged. */
type Acknowledged = { logs: DataLogInput[]; demographics: Demographics; sourcePriority: string[] }

const textOf = (record: Served) => {
  const { createdAt: _, version: __, ...rest } = record
  return JSON.stringify(rest)
}

function periodOf(record: Served): [number, number] {
  const [start, end] = [
    record['scoreDateTime'] ?? record['trendStartDateTime'] ?? record['startDateTime'],
    record['scoreDateTime'] ?? record['trendEndDateTime'] ?? record['endDateTime'],
  ].map((text) => parseInstant(String(text))?.epochMs ?? Number.NaN)
  return [start ?? Number.NaN, end ?? Number.NaN]
}

/** The answer to a question after a complete derivation of everything acknowledged. */
function complete({ logs, ...rest }: Acknowledged, nowMs: number, { profileId, kind, range }: Question): string[] {
  const derived = derive({ logs: logs.map(logOf), ...rest, asOfMs: nowMs, profileId })
  const firstMs = range.firstAt?.getTime() ?? Number.NEGATIVE_INFINITY
  const endMs = range.lastAt?.getTime() ?? Number.POSITIVE_INFINITY
  const touching = derived[`${kind}s`].filter((record) => {
    const [start, end] = periodOf(record)
    return start <= endMs && end >= firstMs
  })
  return touching.map(textOf).toSorted()
}

type Change = 'upload' | 'derive' | 'pass' | 'person' | 'sources'
type Question = { profileId: string; kind: DerivedKind; range: ClosedRange }

/** Reads as the routes do: conditionally where an answer to the same question is held. */
function createCaller({ pool, clock }: RecomputeWorld) {
  const reader = createDerivedReader(pool, 10_000_000)
  const held = new Map<string, { revision: string; records: string[] }>()
  let unchanged = 0
  const ask = async ({ profileId, kind, range }: Question) => {
    const key = JSON.stringify([kind, range])
    const heldAnswer = held.get(key)
    const found = await reader.read({
      profile: { profileId },
      kind,
      filter: range,
      isHeld: heldAnswer && ((revision) => revision === heldAnswer.revision),
    })
    if (found === 'unknown') throw new Error('the profile is gone')
    const { progress, json } = found
    if (json === 'held') unchanged += 1
    const records =
      json === 'held'
        ? (heldAnswer?.records ?? [])
        : JSON.parse(String(json ?? '[]'))
            .map(textOf)
            .toSorted()
    held.set(key, { revision: progress.revision, records })
    return { state: answerState(progress, { kind, range, nowMs: clock.now }), records }
  }
  return { ask, unchanged: () => unchanged }
}

test.for(['a', 'b'])(
  'an answer that says finished is what a complete derivation of everything acknowledged gives, at any moment (%s)',
  async (seed, { serviceUrl }) => {
    const random = createSeededRandom('answer state', seed)
    await withRecompute(serviceUrl, at, async (world) => {
      const { pool, clock } = world
      const profileId = await createProfile(pool)
      const { rows } = await pool.query<{ name: string }>('select name from service.accounts')
      const known: Acknowledged = { logs: [], demographics: unknownDemographics, sourcePriority: [] }
      const waiting = [...life]
      clock.now = lastMs - 20 * DAY
      const changes: Record<Change, () => Promise<void>> = {
        upload: async () => {
          const from = random.integer(0, waiting.length)
          const logs = waiting.splice(from, random.pick([1, 20, 200]))
          await upload(world, profileId, logs)
          known.logs.push(...logs)
        },
        derive: async () => {
          const budgetMs = random.pick([1, 30, 500])
          await recomputeProfile(pool, { profileId, nowAt: new Date(clock.now), cohortOf: async () => null, budgetMs })
        },
        pass: async () => {
          clock.now += random.integer(1, 30) * HOUR
        },
        person: async () => {
          known.demographics = { ...unknownDemographics, age: random.integer(30, 70), gender: 'Female' }
          const { age, gender } = known.demographics
          const fields = { age, gender: gender as 'Female' }
          await writeDemographics(pool, { profileId, fields, mode: 'replace', nowAt: new Date(clock.now) })
        },
        sources: async () => {
          known.sourcePriority = [random.pick(['phone', 'watch', 'ring'])]
          const account = rows[0]?.name ?? ''
          await setSourcePriority(pool, { account, sources: known.sourcePriority, nowAt: new Date(clock.now) })
        },
      }
      const { ask, unchanged } = createCaller(world)
      const states = { finished: 0, pending: 0 }
      const seldom: readonly [Change, ...Change[]] = ['person', 'sources']
      const often: readonly [Change, ...Change[]] = ['upload', 'derive', 'derive', 'derive', 'pass']
      for (let turn = 0; turn < 60; turn += 1) {
        await changes[random.pick(turn % 25 === 24 ? seldom : often)]()
        for (let questions = 0; questions < 4; questions += 1) {
          const first = lastMs - random.integer(0, 6) * 6 * DAY
          const range = random.chance(0.2) ? {} : { firstAt: new Date(first), lastAt: new Date(first + 6 * DAY) }
          const question = { profileId, kind: random.pick(kinds), range }
          const { state, records } = await ask(question)
          states[state] += 1
          if (state === 'finished') expect(records).toEqual(complete(known, clock.now, question))
        }
      }
      expect(states.finished).toBeGreaterThan(20)
      expect(states.pending).toBeGreaterThan(20)
      expect(unchanged()).toBeGreaterThan(5)
    })
  },
)
