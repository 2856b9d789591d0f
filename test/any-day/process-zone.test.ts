import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const script = fileURLToPath(new URL('print-in-zone.ts', import.meta.url))
const zones = ['UTC', 'Pacific/Auckland', 'America/New_York', 'Australia/Lord_Howe']

test('nothing that reads or writes dates depends on the time zone of the process', async () => {
  const printed: string[][] = []
  for (const TZ of zones) {
    const { stdout } = await run(process.execPath, [script], { env: { ...process.env, TZ } })
    printed.push(stdout.trimEnd().split('\n'))
  }
  const offsets = printed.map((lines) => lines.pop())

  for (const lines of printed) expect(lines).toEqual(printed[0])
  expect(printed[0]?.length).toBeGreaterThan(20)
  // Each process really ran in its zone.
  expect(new Set(offsets).size).toBe(zones.length)
})
