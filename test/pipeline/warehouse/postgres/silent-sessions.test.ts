import pg from 'pg'
import { expect } from 'vitest'
import { createDivision } from '../../../../src/pipeline/warehouse/divided/division.ts'
import { endSilentSessions } from '../../../../src/pipeline/warehouse/postgres/silent-sessions.ts'
import { openWarehousePool, transaction } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { soon, test } from '../../../support/fixtures.ts'

/** A process that is frozen after it has begun a COPY. */
class SilentCopy extends pg.Query {
  handleCopyInResponse() {
    // neither rows nor an end: the driver would send an error
  }
}

const lockAll = 'select pg_advisory_xact_lock(1)'

for (const shards of [1, 2]) {
  test(`a session that is frozen in the middle of a COPY is ended when another waits for it (${shards} shards)`, async ({
    database,
    onTestFinished,
  }) => {
    const division = createDivision(shards)
    const pool = openWarehousePool({ databaseUrl: database, connectionsMax: 4, name: 'test', division })
    onTestFinished(() => pool.end())
    const holder = await pool.connect()
    holder.on('error', () => undefined)
    await holder.query('begin; create temporary table here (at int)')
    await holder.query(lockAll)
    const copying = Promise.withResolvers<unknown>()
    holder.query(new SilentCopy('copy here from stdin', copying.resolve))
    expect(await endSilentSessions(pool)).toBe(0)
    const waiting = transaction(pool, async (tx) => (await tx.query(lockAll)).command)

    await expect.poll(() => endSilentSessions(pool), soon).toBe(1)

    expect(await waiting).toBe('SELECT')
    expect(await copying.promise).toBeInstanceOf(Error)
    holder.release(true)
  })
}
