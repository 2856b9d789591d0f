import { expect } from 'vitest'
import { createLog } from '../../../../src/base/log.ts'
import { startOtlp } from '../../../../src/base/monitoring/start-otlp.ts'
import { withSpan } from '../../../../src/base/monitoring/traced-work.ts'
import { startCollector } from '../../../support/collector.ts'
import { march, scoreRecord, scoresReading, test } from '../../../support/test-warehouse.ts'

const settings = { headers: {}, sampler: 'parentbased_always_on', tracesShare: 1 } as const

test('the readings of two jobs in one transaction have one span, which is linked to both', async ({
  warehouse,
  onTestFinished,
}) => {
  const collector = await startCollector()
  onTestFinished(collector.close)
  const log = createLog({ level: 'silent' })
  const otlp = startOtlp({ ...settings, endpoint: collector.url }, { name: 'test', log })
  const ids = await warehouse.addNeighbours(2)
  const { writer, startedAtMs: sentAtMs } = warehouse
  const records = [1, 2].map((day) => scoreRecord({ scoreDateTime: march(day) }))

  await Promise.all(
    ids.map((profileId) => withSpan('job', {}, () => writer.store(scoresReading({ profileId, sentAtMs, records })))),
  )
  await writer.store(scoresReading({ profileId: ids[0] ?? '', sentAtMs: sentAtMs + 1, records })) // of a job without a trace

  await otlp.close()
  const jobs = collector.spans.filter(({ name }) => name === 'job')
  const commits = collector.spans.filter(({ name }) => name === 'commit')
  expect(jobs).toHaveLength(2)
  expect(commits).toHaveLength(1)
  expect(new Set(commits[0]?.links)).toEqual(new Set(jobs.map(({ traceId, spanId }) => ({ traceId, spanId }))))
  expect(jobs).toContainEqual(
    expect.objectContaining({ traceId: commits[0]?.traceId, spanId: commits[0]?.parentSpanId }),
  )
  expect(Object.fromEntries((commits[0]?.attributes ?? []).map(({ key, value }) => [key, value['intValue']]))).toEqual({
    'vitalsync.commit.readings': '2',
    'vitalsync.commit.rows': '4',
  })
})
