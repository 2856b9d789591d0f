import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'
import { test } from '../../support/fixtures.ts'
import { runProgram } from '../../support/run-program.ts'
import { dayBefore, daysFrom, inputOf, log } from '../derive/made-logs.ts'
import { type RecomputeWorld, upload, withRecompute } from '../recompute/recompute-world.ts'

const timeout = 120_000
const days = daysFrom('2026-03-02', 20)
const people = ['ada', 'bo', 'cy', 'di', 'ed', 'fay']

/** Six people whose recovery follows their own variability of that night, and who differ in both without any relation. */
async function makePeople(world: RecomputeWorld): Promise<string[]> {
  const accountId = randomUUID()
  await world.pool.query(`insert into service.accounts values ($1, 'acme', now())`, [accountId])
  const lines: string[] = []
  for (const [place, externalId] of people.entries()) {
    const random = createSeededRandom('people', externalId)
    const profileId = randomUUID()
    await world.pool.query(
      'insert into service.profiles (profile_id, account_id, external_id, search_text, created_at) values ($1, $2, $3, lower($3), now())',
      [profileId, accountId, externalId],
    )
    const variability = days.map(() => 30 + 10 * place + Math.round(random.between(0, 100)) / 10)
    await upload(
      world,
      profileId,
      days.flatMap((day, index) => [
        inputOf(log('sleep_stage_sleeping', `${dayBefore(day)}T23:00:00Z`, [420 + ((index * 7) % 31), 1])),
        inputOf(log('heart_rate_variability_rmssd', `${day}T03:00:00Z`, [0, variability[index] ?? 0])),
      ]),
    )
    const base = 1000 * ((place * 5) % 6)
    lines.push(
      ...days.map((day, index) => `${externalId},${day},recovery,${base + (variability[index] ?? 0) ** 2 / 100}`),
    )
  }
  await world.recompute.idle()
  return ['externalId,date,name,value', ...lines, 'nobody,2026-03-02,recovery,1']
}

test('finds the relation that made-up people have, as table and as JSON', { timeout }, async ({ serviceUrl }) => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-evaluate-'))
  try {
    await withRecompute(serviceUrl, '2026-04-02T00:00:00Z', async (world) => {
      await writeFile(join(folder, 'recovery.csv'), (await makePeople(world)).join('\n'))
      const run = (...words: string[]) =>
        runProgram(['evaluate', 'recovery.csv', ...words], {
          cwd: folder,
          env: { DATABASE_URL: serviceUrl },
        })

      const stranger = await run('--account', 'nobody')
      expect(stranger).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no such account') })

      // Without --account it is the only one.
      const evaluated = await run('--json')
      expect([evaluated.code, evaluated.stderr]).toEqual([0, ''])
      const { references, ...counts } = JSON.parse(evaluated.stdout)
      expect(counts).toEqual({ figures: 121, persons: 6, personsUnknown: 1 })
      expect(references.map(({ name }: { name: string }) => name)).toEqual(['recovery'])
      const value = (kind: string, name: string) =>
        references[0].values.find((value: { kind: string; name: string }) => value.kind === kind && value.name === name)
      const rmssd = value('biomarker', 'heart_rate_variability_rmssd')
      // Recovery grows with the square of the own variability: the order within a person is the same.
      expect(rmssd.within).toMatchObject({ n: 120, persons: 6 })
      expect(rmssd.within.rho).toBeCloseTo(1, 10)
      expect([rmssd.within.from, rmssd.within.upTo]).toEqual([rmssd.within.rho, rmssd.within.rho])
      expect(Math.abs(rmssd.all.rho)).toBeLessThan(0.6)
      // The night before says nothing.
      expect(rmssd.lagged.n).toBe(114)
      expect(Math.abs(rmssd.lagged.rho)).toBeLessThan(0.4)
      expect(Math.abs(value('biomarker', 'sleep_duration').within.rho)).toBeLessThan(0.4)
      // The factor is known from the fifteenth night on: six nights, too few within a person, enough over all.
      expect(value('factor', 'heart_rate_variability')).toMatchObject({ all: { n: 36 }, within: { rho: null } })

      const table = await run()
      expect(table.stdout).toMatch(/121 figures of 6 persons; 1 person not known here/)
      expect(table.stdout).toMatch(/biomarker +heart_rate_variability_rmssd +120 .* 1\.00 \(1\.00 to 1\.00\)/)
      expect((await run('--account', 'acme')).stdout).toBe(table.stdout)
      await world.pool.query(
        `insert into service.accounts (account_id, name, created_at) values (gen_random_uuid(), 'other', now())`,
      )
      expect(await run()).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('evaluate account default: there is no'),
      })
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
