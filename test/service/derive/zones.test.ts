import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const script = fileURLToPath(new URL('./zone-hash.ts', import.meta.url))
const zones = ['UTC', 'Asia/Tokyo', 'America/Los_Angeles', 'Australia/Lord_Howe', 'Pacific/Kiritimati']

test('the machine’s own time zone does not matter, for sample people and for any logs', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const said: { hash: string; offset: string }[] = []
  for (const TZ of zones) {
    const { stdout } = await run(process.execPath, [script, String(seed)], { env: { ...process.env, TZ } })
    const [hash = '', offset = ''] = stdout.split(' ')
    said.push({ hash, offset })
  }

  expect(
    said.map(({ hash }) => hash),
    `seed ${seed}`,
  ).toEqual(zones.map(() => said[0]?.hash))
  expect(said[0]?.hash).toMatch(/^[0-9a-f]{64}$/)
  // Each process really ran in its zone.
  expect(new Set(said.map(({ offset }) => offset)).size).toBe(zones.length)
})
