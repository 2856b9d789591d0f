import pg from 'pg'
import { catalogue, pushedStreams } from '../../config/streams.ts'
import { DAY } from '../../src/base/time/units.ts'
import { toItem } from '../../src/intake/outbox-items.ts'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import type { OutboxItem } from '../../src/pipeline/transfer/parcel.ts'
import { createOutbox } from '../../src/pipeline/warehouse/outbox/outbox.ts'
import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { insertPeople, peopleNames } from '../support/insert-people.ts'
import { testDivision } from '../support/test-pool.ts'
import { readCost, totalOf } from './cost.ts'
import { startEngines } from './engines.ts'
import { alternate, type Contestant, type Measure, median, type RoundOptions, rounded, spreadOf } from './measure.ts'

const LOGS = 20_000
const CALLS = [60, 1000]
const GOAL = 1.05

/** Adding logs to the outbox with the evidence of days, beside adding them without: processor time of this process and of Postgres. */
export async function run({ quick, say }: RoundOptions): Promise<readonly Measure[]> {
  const engines = await startEngines()
  try {
    const databaseUrl = await engines.database()
    await migrateWarehouse(databaseUrl, () => undefined)
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    const rounds = quick ? 5 : 15
    await insertPeople(client, peopleNames(rounds * CALLS.length * 2, 'person-', 6), { state: `'active'` })
    const { rows: people } = await client.query<{ id: string }>('select id from vitalsync.profiles order by id')
    await client.end()
    const pool = openWarehousePool({
      databaseUrl,
      division: testDivision,
      connectionsMax: 4,
      name: 'bench',
      pipeline: true,
      statementTimeoutMs: 600_000,
    })
    const outbox = createOutbox({ pool, catalogue, firstReadingMs: DAY, now: Date.now })
    const logs = itemsOfOne()
    const contestantOf = (perCall: number, isEvident: boolean): Contestant => ({
      name: nameOf(perCall, isEvident),
      async measure() {
        const profileId = people.pop()?.id ?? ''
        const items = logs.map((log): OutboxItem => ({ ...log, profileId, ...(!isEvident && { evidence: undefined }) }))
        await engines.settle()
        const before = readCost()
        for (let at = 0; at < LOGS; at += perCall) await outbox.add(items.slice(at, at + perCall))
        return totalOf(before, readCost()) / LOGS
      },
    })
    const contestants = CALLS.flatMap((perCall) => [contestantOf(perCall, true), contestantOf(perCall, false)])
    const figures = await alternate(contestants, { rounds, say })
    await pool.end()
    for (const [name, values] of figures) say(`  ${name.padEnd(40)} ${spreadOf(values)} µs a log`)
    return CALLS.map((perCall) => measureOf(figures, perCall))
  } finally {
    await engines.close()
  }
}

const nameOf = (perCall: number, isEvident: boolean) =>
  `calls of ${perCall} logs${isEvident ? ', with the evidence of days' : ''}`

function measureOf(figures: ReadonlyMap<string, readonly number[]>, perCall: number): Measure {
  const [value, against] = [nameOf(perCall, true), nameOf(perCall, false)]
  const ratio = rounded(median(figures.get(value) ?? []) / median(figures.get(against) ?? []))
  const us = rounded(median(figures.get(value) ?? []))
  return { name: value, value: us, unit: 'µs a log', ratio, against, goal: `≤ ${GOAL}`, holds: ratio <= GOAL }
}

/** The logs of one person in the order of time, as an app hands them in. */
function itemsOfOne() {
  const [person] = samplePeople('bench', 1)
  const endMs = Date.parse('2026-04-05T12:00:00Z')
  const stream = pushedStreams.find(({ name }) => name === 'data-logs')
  if (!person || !stream) throw new Error('log-days: nobody has logs')
  return logsOf(person, { startMs: endMs - 60 * DAY, endMs })
    .slice(0, LOGS)
    .map((log) => {
      const made = toItem(
        { externalId: 'one', ...log },
        { stream, format: 'ndjson', completeOffset: (text) => text, replace: false, nowMs: endMs },
      )
      if ('fault' in made) throw new Error(made.fault)
      return made.item
    })
}
