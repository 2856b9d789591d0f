import { expect } from 'vitest'
import { UsageProblem } from '../../../src/base/errors.ts'
import { findPooler, requireDirectConnection } from '../../../src/base/postgres/direct-connection.ts'
import { test } from '../../support/fixtures.ts'
import { startPgBouncer } from '../../support/pgbouncer.ts'
import { needProgram } from '../../support/programs.ts'

const ignoring = 'ignore_startup_parameters = options,extra_float_digits'

test('Postgres itself is no pooler', async ({ warehouseUrl }) => {
  expect(await findPooler(warehouseUrl)).toBe(undefined)
})

test('PgBouncer is refused in every mode, with the variable and the cure', async ({
  warehouseUrl,
  skip,
  onTestFinished,
}) => {
  needProgram(skip, 'pgbouncer')
  const faults: string[] = []
  for (const options of [
    { mode: 'transaction' },
    { mode: 'transaction', settings: ignoring },
    { mode: 'session', settings: ignoring },
  ] as const) {
    const bouncer = await startPgBouncer({ databaseUrl: warehouseUrl, ...options })
    onTestFinished(bouncer.close)
    faults.push((await findPooler(bouncer.url))?.text ?? 'none')
    const refused = await requireDirectConnection(bouncer.url, 'DATABASE_URL').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(UsageProblem)
    expect((refused as UsageProblem).message).toContain('use DATABASE_URL: it leads to')
    expect((refused as UsageProblem).hint).toContain('the address of Postgres itself')
    await bouncer.close()
  }
  expect(faults).toEqual([
    'it leads to PgBouncer, which refuses the settings of our connections',
    'it leads to a pooler that shares sessions among connections (transaction pooling)',
    'it leads to a pooler that drops the settings of our connections',
  ])
})
