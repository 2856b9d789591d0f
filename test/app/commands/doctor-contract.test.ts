import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { checkedIn } from './checked-json.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

let world: CommandWorld
const timeout = 300_000

beforeAll(async () => {
  world = await openCommandWorld({ profiles: 2, days: 12 })
}, timeout)
afterAll(() => world.close(), timeout)

test('doctor --contract says its plan before, and as JSON what it found', { timeout }, async () => {
  const { stdout, stderr, code } = await world.run('doctor', '--contract')
  const [report] = await checkedIn(world, 'doctor', '--contract')

  expect(stderr).toMatch(/^Contract of http.*: at most \d+ requests, one at a time/)
  expect(stdout).toMatch(/Points that differ: 0 act on correctness, 0 are harmless\.\n$/)
  expect(code).toBe(0)
  expect(report).toMatchObject({ harmful: 0, harmless: 0, people: 2 })
})

test('what acts on correctness is the exit code 1, and is named as a change since --save', { timeout }, async () => {
  const file = join(world.folder, 'contract.json')
  await world.run('doctor', '--contract', '--save', file)
  world.sandbox.faults.set([{ name: 'drift-unit', rate: 1 }])
  onTestFinished(() => world.sandbox.faults.set([]))

  const { stdout, code } = await world.run('doctor', '--contract', '--compare', file)

  expect(code).toBe(1)
  expect(stdout).toContain('biomarkers: units: differs, acts on correctness')
  expect(stdout).toMatch(/Changed since it was saved:\n(.*\n)*.*biomarkers: records: units that changed/)
  const kept = await readFile(file, 'utf8')
  expect((await stat(file)).mode & 0o077).toBe(0)
  expect([world.sandbox.clientSecret, 'SampleProfile'].filter((secret) => kept.includes(secret))).toEqual([])
})

test('refused credentials, a file that is none, and options without --contract', { timeout }, async () => {
  const other = join(world.folder, 'other.json')
  await writeFile(other, '{"version":2}')
  const compared = await world.run('doctor', '--contract', '--compare', other)
  const alone = await world.run('doctor', '--save', other)
  const refused = await world.start(['doctor', '--contract'], { UPSTREAM_CLIENT_SECRET: 'wrong' }).ended

  expect([compared.code, alone.code]).toEqual([2, 2])
  expect(compared.stderr).toContain('it is no saved contract')
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('Upstream refuses the credentials')])
})
