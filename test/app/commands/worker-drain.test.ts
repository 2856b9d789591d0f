import { expect } from 'vitest'
import { runProgram } from '../../support/run-program.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../../support/test-pipeline.ts'

const at = Date.parse('2026-03-02T00:00:00Z')
const logsOf = (profileId: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    profileId,
    stream: 'data-logs' as const,
    itemKey: `log-${profileId}-${index}`,
    body: JSON.stringify({ id: `log-${profileId}-${index}`, value: index }),
    startAtMs: at + index,
    endAtMs: at + index,
  }))

const drain = (line: TestPipeline) => runProgram(['worker', '--drain'], { cwd: process.cwd(), env: line.settings })

for (const engine of queueKinds) {
  test(`worker --drain plans the due windows without a scheduler, reads them, and exits (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine)
    const profileIds = await line.addProfiles('ada', 'bob')
    for (const name of ['ada', 'bob']) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    await line.pipeline.outbox.add(profileIds.flatMap((profileId) => logsOf(profileId, 60)))

    const drained = await drain(line)

    expect(drained.code).toBe(0)
    expect(peer.logs.size).toBe(120)
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(2)
    expect(await line.pipeline.queue.isIdle()).toBe(true)
    expect(await line.rows('select kind, state from vitalsync.runs where state <> $1', ['done'])).toEqual([])
  })
}

test('worker --drain leaves with the reason when the account’s credentials are refused', async ({ open, peer }) => {
  const line = await open('postgres', { UPSTREAM_CLIENT_SECRET: 'wrong' })
  await line.addProfiles('ada')
  peer.profiles.add('ada')

  const drained = await drain(line)

  expect(drained.code).not.toBe(0)
  expect(drained.stderr).toContain('credentials')
})
