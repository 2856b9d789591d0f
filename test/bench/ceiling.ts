import type pg from 'pg'
import { Pool } from 'undici'
import { type PulledName, pulledNames } from './canned.ts'
import { copyFrom, copyLine, plainPool } from './copy.ts'
import { cellsOf, columnsOf, type PlainRecord, pathOf, plainTables, streamOf } from './tables.ts'

export type PlainPull = {
  readonly databaseUrl: string
  readonly upstreamUrl: string
  readonly externalIds: readonly string[]
  readonly window: { readonly startAt: string; readonly endAt: string }
}

const inFlight = 64
const rowsPerCopy = 3000
const copiesAtOnce = 2

/**
 * The machine's best without any promise: GET, parse, COPY into tables without keys. No queue, no ledger, no
 * history, no way to know what is there. Gives records per second.
 */
export async function runCeiling(plain: PlainPull): Promise<number> {
  const pool = plainPool(plain.databaseUrl, copiesAtOnce)
  await pool.query(plainTables('ceiling', { keyed: false }))
  const http = new Pool(plain.upstreamUrl, { connections: inFlight, pipelining: 1 })
  const sink = openSink(pool)
  const startedAt = performance.now()
  let next = 0
  const worker = async () => {
    for (;;) {
      const at = next++
      const externalId = plain.externalIds[Math.floor(at / pulledNames.length)]
      const name = pulledNames[at % pulledNames.length]
      if (externalId === undefined || name === undefined) return
      const answer = await http.request({
        method: 'GET',
        path: pathOf(name, externalId, plain.window),
        headers: { authorization: 'account account-token' },
      })
      const records = JSON.parse(await answer.body.text()) as PlainRecord[]
      await sink.take(
        name,
        records.map((record) => copyLine(cellsOf(name, externalId, record))),
      )
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  await sink.end()
  const seconds = (performance.now() - startedAt) / 1000
  await http.close()
  await pool.end()
  return sink.rows() / seconds
}

/** Gathers lines per stream and copies them in large pieces, as many at once as there are connections. */
function openSink(pool: pg.Pool) {
  const waiting = new Map<PulledName, string[]>()
  const underWay = new Set<Promise<void>>()
  let rows = 0
  const copy = async (name: PulledName, lines: string[]) => {
    const client = await pool.connect()
    const statement = `copy ceiling.${streamOf(name).table} (${columnsOf(name)}) from stdin`
    await copyFrom(client, statement, Buffer.from(lines.join(''))).finally(() => client.release())
  }
  const start = (name: PulledName, lines: string[]) => {
    waiting.set(name, [])
    const copying: Promise<void> = copy(name, lines).finally(() => underWay.delete(copying))
    underWay.add(copying)
  }
  return {
    rows: () => rows,
    async take(name: PulledName, lines: readonly string[]) {
      rows += lines.length
      const all = waiting.get(name) ?? []
      all.push(...lines)
      waiting.set(name, all)
      if (all.length >= rowsPerCopy) start(name, all)
      while (underWay.size > 2 * copiesAtOnce) await Promise.race(underWay)
    },
    async end() {
      for (const [name, lines] of waiting) if (lines.length > 0) start(name, lines)
      await Promise.all(underWay)
    },
  }
}
