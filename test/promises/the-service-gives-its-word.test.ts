import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { startSandbox } from '../../src/service/start-sandbox.ts'
import { soon } from '../support/fixtures.ts'
import { daysAgoMs } from '../support/sample-scores.ts'
import { openTestPipeline, type TestPipeline, test } from '../support/test-pipeline.ts'

const runner = 'SampleProfile-runner-1'
const read = { streams: ['scores', 'biomarkers'] }
const range = { ...read, from: daysAgoMs(20), to: daysAgoMs(4), again: true }

const steps = (day: number, value: number) => ({
  id: '6f9619ff-8b86-4011-b42d-00cf4fc964ff',
  logType: 'activity',
  dataType: 'steps',
  value,
  unit: 'count',
  source: 'promise',
  recordingMethod: 'automatically_recorded',
  deviceType: 'phone',
  startDateTime: new Date(daysAgoMs(day) + 10 * HOUR).toISOString(),
  endDateTime: new Date(daysAgoMs(day) + 11 * HOUR).toISOString(),
})

async function again(line: TestPipeline) {
  const run = await line.tick('backfill', range)
  await line.idle()
  return line.pipeline.runs.get(run.id)
}

test('a window that the service has not derived yet is covered only when the service says so, without an assumed time', async ({
  serviceUrl,
  warehouseUrl,
}) => {
  const log = createLog({ level: 'silent' })
  const sandbox = await startSandbox({ databaseUrl: serviceUrl, port: 0, profiles: 8, seed: 'word', days: 12, log })
  onTestFinished(() => sandbox.close())
  await sandbox.derived()
  // No two readings agree within this test: only the service's own word can settle what was pushed.
  const settings = { HISTORY_DAYS: '30', REREAD_SECONDS: '0,3600' }
  const line = await openTestPipeline({ warehouseUrl, queueUrl: warehouseUrl, upstream: sandbox, settings })
  onTestFinished(() => line.close())
  const [profileId = ''] = await line.addProfiles(runner)
  const isCovered = async (day: number) => {
    const span = [new Date(daysAgoMs(day)).toISOString(), new Date(daysAgoMs(day) + DAY).toISOString()]
    const [row] = await line.rows(
      `select covered @> tstzrange($1, $2) as covered from vitalsync.ledger where stream = 'biomarkers'`,
      span,
    )
    return row?.['covered']
  }
  const written = () =>
    line.rows(
      `select sum(value::float8) as steps from vitalsync.biomarkers
       where type = 'steps' and gone_at is null and end_date_time < $1`,
      [new Date(range.to).toISOString()],
    )
  line.work()
  await again(line)
  expect(await isCovered(8)).toBe(true)
  const unchanged = await again(line)
  expect(unchanged).toMatchObject({ unchanged: unchanged?.requests, rowsRead: 0, rowsWritten: 0 })
  const before = await written()

  await sandbox.derivationDelay.set({ delayMs: HOUR })
  const body = steps(8, 4321)
  const span = { startAtMs: Date.parse(body.startDateTime), endAtMs: Date.parse(body.endDateTime) }
  await line.pipeline.outbox.add([
    { profileId, stream: 'data-logs', itemKey: body.id, body: JSON.stringify(body), ...span },
  ])
  await line.tick('sync', read)
  await line.idle()
  expect(await line.rows('select 1 from vitalsync.parcels')).toEqual([])
  await again(line)
  expect(await isCovered(8)).toBe(false)
  expect(await written()).toEqual(before)

  await sandbox.derivationDelay.clear()
  const readUntilCovered = async () => {
    await again(line)
    return isCovered(8)
  }
  await expect.poll(readUntilCovered, soon).toBe(true)
  expect(await written()).not.toEqual(before)
})

const measured = (dataType: 'weight' | 'height', unit: string, day: number, value: number) => ({
  ...steps(day, value),
  ...{ id: randomUUID(), logType: 'body', dataType, unit, deviceType: 'scale' },
})

test('a late log changes days long after its own, and none of them is called covered as it was', async ({
  serviceUrl,
  warehouseUrl,
}) => {
  const log = createLog({ level: 'silent' })
  const sandbox = await startSandbox({ databaseUrl: serviceUrl, port: 0, profiles: 8, seed: 'word', days: 2, log })
  onTestFinished(() => sandbox.close())
  await sandbox.derived()
  const settings = { HISTORY_DAYS: '130', REREAD_SECONDS: '0,3600' }
  const line = await openTestPipeline({ warehouseUrl, queueUrl: warehouseUrl, upstream: sandbox, settings })
  onTestFinished(() => line.close())
  const [profileId = ''] = await line.addProfiles(runner)
  line.work()
  const push = async (body: ReturnType<typeof measured>) => {
    const span = { startAtMs: Date.parse(body.startDateTime), endAtMs: Date.parse(body.endDateTime) }
    const item = { profileId, stream: 'data-logs', itemKey: body.id, body: JSON.stringify(body), ...span } as const
    await line.pipeline.outbox.add([item])
  }
  const pull = async () => {
    await line.tick('sync', read)
    await line.idle()
  }
  /** On the day of the weight, twenty days ago. */
  const look = async () => {
    const [row] = await line.rows(
      `select covered @> tstzrange($1, $2) as covered, exists (select from vitalsync.biomarkers b
         where b.type = 'body_mass_index' and b.gone_at is null and b.start_date_time between $1 and $2
         and b.profile_id = $3) as "hasIndex"
       from vitalsync.ledger where stream = 'biomarkers' and profile_id = $3`,
      [new Date(daysAgoMs(20)).toISOString(), new Date(daysAgoMs(19)).toISOString(), profileId],
    )
    return row
  }
  await push(measured('weight', 'kg', 20, 70))
  const readUntilCovered = async () => {
    await pull()
    return (await look())?.['covered']
  }
  await expect.poll(readUntilCovered, soon).toBe(true)
  expect(await look()).toEqual({ covered: true, hasIndex: false })

  await push(measured('height', 'm', 100, 1.75))

  await expect.poll(readUntilCovered, soon).toBe(true)
  expect(await look()).toEqual({ covered: true, hasIndex: true })
})
