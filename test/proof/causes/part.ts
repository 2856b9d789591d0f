import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyMigrations } from '../../../src/base/engines/apply-migrations.ts'
import { startPostgres } from '../../../src/base/engines/embedded-postgres.ts'
import { DAY } from '../../../src/base/time/units.ts'
import type { Pool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { openWarehousePool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { planNames, plannedPerson } from '../../../src/service/sandbox/people/planned-people.ts'
import { openMemoryFolder } from '../../support/memory-folder.ts'
import { playPlannedPeople } from '../../support/planned-warehouse.ts'
import { testDivision } from '../../support/test-pool.ts'
import type { ProofOptions, ProofPart, ProofResult } from '../part.ts'
import { compareCauses, type Matrix, matrixRows, ratesOf, wrongUpstream } from './matrix.ts'

const DAYS = 100
const PEOPLE_WHOLE = 100
const PEOPLE_SHORT = planNames.length
/** The people whose days are in memory together. */
const PEOPLE_AT_ONCE = 10
const RATE_MIN = 0.99
/** The first planned day. All days are past: the service's word settles them. */
const FIRST_DAY = Math.floor(Date.parse('2026-03-02') / DAY)

const migrations = new URL('../../../src/pipeline/warehouse/migrations/', import.meta.url)

async function withWarehouse<T>(use: (pool: Pool) => Promise<T>): Promise<T> {
  const memory = await openMemoryFolder()
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-causes-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder, throwAway: true, connectionsMax: 20 })
  try {
    const databaseUrl = postgres.adminUrl('postgres')
    await applyMigrations({ databaseUrl, folder: migrations, schema: 'vitalsync' })
    const pool = openWarehousePool({
      databaseUrl,
      division: testDivision,
      connectionsMax: 8,
      name: 'causes',
      pipeline: true,
    })
    try {
      return await use(pool)
    } finally {
      await pool.end()
    }
  } finally {
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
    await memory?.close()
  }
}

async function run({ short, seed, print }: ProofOptions): Promise<ProofResult> {
  const startedAt = performance.now()
  const people = short ? PEOPLE_SHORT : PEOPLE_WHOLE
  const matrix: Matrix = new Map()
  await withWarehouse(async (pool) => {
    for (let first = 0; first < people; first += PEOPLE_AT_ONCE) {
      const numbers = Array.from({ length: Math.min(PEOPLE_AT_ONCE, people - first) }, (_, n) => first + n)
      const planned = numbers.map((number) =>
        plannedPerson(short ? `short ${seed}` : 'causes', number, { firstDay: FIRST_DAY, days: DAYS }),
      )
      await playPlannedPeople(pool, planned)
      await compareCauses(pool, planned, matrix)
      print(`${(first + numbers.length) * DAYS} person-days`)
    }
  })
  const rates = ratesOf(matrix)
  const wrong = wrongUpstream(matrix)
  for (const { cause, precision, recall } of rates) print(`${cause}: precision ${precision}, recall ${recall}`)
  const isGood = rates.every(({ precision, recall }) => precision >= RATE_MIN && recall >= RATE_MIN)
  return {
    holds: isGood && wrong === 0,
    tables: [
      { title: 'Causes of empty days: planned, and given', ...matrixRows(matrix) },
      {
        title: 'How often a cause is right, and found',
        columns: ['cause', 'precision', 'recall'],
        rows: rates.map(({ cause, precision, recall }) => [cause, precision.toFixed(4), recall.toFixed(4)]),
      },
      {
        title: 'The days behind the causes',
        columns: ['figure', 'value'],
        rows: [
          ['person-days', people * DAYS],
          ['plans', planNames.length],
          ['days called sent_not_derived that are not', wrong],
          ['seconds', Math.round((performance.now() - startedAt) / 1000)],
        ],
      },
    ],
    survivors: [],
    notChecked: [
      'Causes of the days of people whose devices behave otherwise than the planned ones.',
      'Causes beside an upstream that derives by other rules than our service.',
    ],
  }
}

export const part: ProofPart = {
  name: 'causes',
  checks:
    'People whose empty days have planned causes hand in their logs day by day to the real outbox, and are read by the real writer over a Postgres; each cause in `warehouse.days` is compared with the plan, when the day settles and in the end.',
  promises: [20],
  minutes: { short: 1, whole: 5 },
  run,
}
