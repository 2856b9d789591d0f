import pg from 'pg'
import { cannedBody, firstDay, pulledNames, recordsPerProfile } from './canned.ts'
import { costPer, readCost, totalOf } from './cost.ts'
import { type Engines, startEngines } from './engines.ts'
import { type Measure, median, type RoundOptions, rounded } from './measure.ts'
import { writePlot } from './plot.ts'
import { fillWarehouse, openSubject, people } from './subject.ts'
import { streamOf } from './tables.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'

const profiles = 100
/** Between two people who are pulled lie the even ids of others, so that what is new lands in the middle of every index. */
const stride = 2000
const roundsCounted = 5

type World = { engines: Engines; upstream: FastUpstream; say: (line: string) => void }

/** The same cold pull, and the same read again, with 1 to 1,000 times as many rows in the warehouse already. */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  const multiples = quick ? [1, 10, 100] : [1, 10, 100, 1000]
  const cold: number[] = []
  const again: number[] = []
  try {
    await pullWith({ engines, upstream, say: () => undefined }, 1) // warms the process up, not counted
    for (const multiple of multiples) {
      const costs = await pullWith({ engines, upstream, say }, multiple)
      cold.push(costs.cold)
      again.push(costs.again)
    }
  } finally {
    await upstream.close()
    await engines.close()
  }
  if (!quick) {
    await writePlot('growth.svg', {
      title: 'Processor time per record, in µs, by rows already there',
      x: { label: 'rows in the warehouse', values: multiples.map((n) => n * profiles * recordsPerProfile), log: true },
      lines: [
        { label: 'cold pull', values: cold },
        { label: 'read again', values: again },
      ],
    })
  }
  return [measureOf('cold pull', cold, multiples), measureOf('read again', again, multiples)]
}

function measureOf(name: string, costs: readonly number[], multiples: readonly number[]): Measure {
  const most = multiples.at(-1) ?? 1
  const ratio = rounded((costs.at(-1) ?? 0) / (costs[0] ?? 1))
  return {
    name: `growth, ${name} at ${most} ×`,
    value: rounded(costs.at(-1) ?? 0),
    unit: 'µs of processor per record',
    ratio,
    against: 'the same at 1 ×',
    goal: '≤ 1.3',
    holds: ratio <= 1.3,
  }
}

async function pullWith({ engines, upstream, say }: World, multiple: number) {
  const databaseUrl = await engines.database()
  const queueUrl = engines.redisUrl ?? (await engines.database())
  await spreadIds(databaseUrl)
  await fillRows(databaseUrl, multiple)
  const costs = { cold: [] as number[], again: [] as number[] }
  for (let round = 0; round <= roundsCounted; round++) {
    await upstream.set({ changed: false })
    const subject = await openSubject({ databaseUrl, queueUrl, upstreamUrl: upstream.url })
    await engines.settle()
    const first = readCost()
    const one = await subject.run('sync', { streams: pulledNames })
    const second = readCost()
    await upstream.set({ changed: true })
    const range = { from: firstDay(Date.now()), to: Date.now() }
    const two = await subject.run('backfill', { ...range, streams: pulledNames, again: true })
    const third = readCost()
    await subject.close()
    await forget(databaseUrl)
    // While millions of rows were made up, the engine threw away what it had compiled: the first round pays for that.
    if (round === 0) continue
    costs.cold.push(totalOf(first, second) / one.run.rowsRead)
    costs.again.push(totalOf(second, third) / two.run.rowsRead)
    say(
      `    ${multiple} ×, cold ${Math.round(one.run.rowsRead / one.seconds)} records/s, ${costPer(first, second, one.run.rowsRead)}`,
    )
    say(
      `    ${multiple} ×, again ${Math.round(two.run.rowsRead / two.seconds)} records/s, ${costPer(second, third, two.run.rowsRead)}`,
    )
  }
  await engines.drop(databaseUrl)
  return { cold: median(costs.cold), again: median(costs.again) }
}

async function withClient(databaseUrl: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await work(client)
  await client.end()
}

async function spreadIds(databaseUrl: string): Promise<void> {
  await fillWarehouse(databaseUrl, [])
  await withClient(databaseUrl, async (client) => {
    await client.query(`alter table vitalsync.profiles alter column id set increment by ${stride}`)
  })
  await fillWarehouse(databaseUrl, people(profiles))
}

/** Rows of others, as a pull would have left them: ids spread among those that are pulled. */
async function fillRows(databaseUrl: string, multiple: number): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    for (const name of pulledNames) {
      const { table, columns } = streamOf(name)
      const instants = columns.map(({ name: column, type, from }) => {
        const text = `r ->> '${from[0]}'`
        return {
          column,
          value:
            type === 'text'
              ? text
              : `(${text})::${{ instant: 'timestamptz', number: 'float8', boolean: 'bool' }[type]}`,
        }
      })
      // In the order of the key, so that it is quick; what is pulled afterwards lands in between.
      await client.query(
        `insert into vitalsync.${table} (profile_id, ${instants.map(({ column }) => column)}, body, digest, read_at, first_seen_at, changed_at)
         select p.id, ${instants.map(({ value }) => value)}, r::text, 0, now(), now(), now()
         from (select 2 + 2 * (n * ${stride / 2} / $2::bigint) as id from generate_series(0, $3::bigint - 1) n) p,
           jsonb_array_elements($1::jsonb) r order by p.id`,
        [cannedBody(name, { fromMs: firstDay(Date.now()), changed: false }), multiple, profiles * multiple],
      )
    }
    await client.query('vacuum analyze')
  })
}

/** Takes what was pulled out again, so that the next round begins where this one did. */
async function forget(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const pulled = 'profile_id in (select id from vitalsync.profiles)'
    for (const name of pulledNames) await client.query(`delete from vitalsync.${streamOf(name).table} where ${pulled}`)
    await client.query('truncate vitalsync.history')
    await client.query(`update vitalsync.ledger set covered = '{}', recent = '[]', read_at = null`)
    await client.query('vacuum analyze')
  })
}
