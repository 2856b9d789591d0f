import { expect } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { isReadOf } from '../../support/peer.ts'
import { runProgram, startProgram } from '../../support/run-program.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { test } from '../../support/test-pipeline.ts'

test('during an outage of upstream sync and status say in words why no job succeeds and how many wait', async ({
  open,
  peer,
  onTestFinished,
}) => {
  const line = await open('postgres')
  await line.addProfiles('ada', 'bob')
  for (const name of ['ada', 'bob']) peer.give(name, 'scores', [scoreOf(9, 0.4)])
  const { before } = peer
  const isRead = isReadOf('scores')
  peer.before = (seen) => (isRead(seen) ? { status: 503, headers: { 'retry-after': '3' } } : before(seen))
  const program = { cwd: '/tmp', env: { ...line.settings, LOG_LEVEL: 'info' } }

  const sync = startProgram(['sync', '--stream', 'scores'], program)
  onTestFinished(() => sync.kill('SIGKILL'))
  const [said] = await sync.said(
    /no manual job succeeds since .* UTC: call scoresOf: upstream is busy \(status 503\); 2 profiles waiting, tried again at [\d:]+ UTC/,
  )
  const told = 'status 503'
  expect(said).toContain(told)
  const status = await runProgram(['status'], program)
  expect(status.stdout).toMatch(/no manual job succeeds since .* \(status 503\); 2 jobs waiting/)
  const failures = await runProgram(['failures', 'list'], program)
  expect(failures.stderr).toMatch(
    /no manual job succeeds since .* UTC: call scoresOf: .* \(status 503\); its jobs waiting/,
  )
  const asked = () => peer.seen.filter(isRead).length
  const before503 = asked()
  await expect.poll(asked, soon).toBeGreaterThan(before503 + 1)

  peer.before = before
  const { code, stderr } = await sync.ended
  expect(code).toBe(0)
  expect(stderr.split(told)).toHaveLength(2) // printed once
  expect(stderr).not.toMatch(/^\{/m)
  expect(await line.rows('select count(*)::int as n from vitalsync.scores')).toEqual([{ n: 2 }])
  expect((await runProgram(['status'], program)).stdout).not.toContain(told)
})
