import { describe, expect } from 'vitest'
import { operations } from '../../../src/base/contract/operations.ts'
import { scoreAnswerSchema } from '../../../src/base/contract/score.ts'
import { test as base, template, within } from '../../support/fixtures.ts'
import { json, newcomer, office, openSandboxWorld, runner, type SandboxWorld } from './sandbox-world.ts'

/** A fixed time: on some days of a year, each of the last weeks of a regular sleeper happens to be less regular. */
const machine = () => Date.parse('2026-11-18T12:00:00Z')

/** One for all tests, for a month of days takes seconds to derive: they only look, but for the last, which lives on. */
const test = base.extend<{ world: SandboxWorld }>({
  world: [
    async ({}, use) =>
      within(await template('service'), async (databaseUrl) => {
        const world = await openSandboxWorld({ databaseUrl, days: 31, derives: true, machine })
        await use(world)
        await world.sandbox.close()
      }),
    { scope: 'file' },
  ],
})

type Told = { id: string; value?: unknown }
const listed = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons'] as const

describe('what the sandbox derives from its people', () => {
  test('is complete when the sandbox says so, in all five kinds, and the ledger equals the answers of the routes', async ({
    world,
  }) => {
    expect(json(await world.control('POST', '/derived'))).toEqual({ derived: true })

    const ledger = await world.sandbox.ledger(runner)
    const headers = { authorization: `account ${await world.accountToken()}` }
    for (const stream of listed) {
      const path = operations[`${stream}Of`].path.replace('/api/v1/', '').replace('{externalId}', runner)
      const answered: Told[] = json(await world.api(path, { headers }))
      expect(answered.length, stream).toBeGreaterThan(0)
      expect(ledger?.[stream]).toEqual(answered)
    }
    for (const score of ledger?.scores ?? []) scoreAnswerSchema.parse(score)
    expect(Object.values((await world.sandbox.ledger(newcomer)) ?? {}).flat()).toEqual([])
  })

  test('can be explained, as in a service that is no sandbox', async ({ world }) => {
    await world.sandbox.derived()
    const headers = { authorization: `account ${await world.accountToken()}` }
    const [score] = (await world.sandbox.ledger(runner))?.scores.filter((score) => score['type'] === 'sleep') ?? []
    const date = String(score?.['scoreDateTime']).slice(0, 10)
    const explained = await world.api(`profile/explain/${runner}?date=${date}&score=sleep`, { headers })
    expect([explained.status, json(explained).value ?? json(explained).score?.value]).toEqual([200, score?.['value']])
  })

  test('differs between the kinds of people', async ({ world }) => {
    await world.sandbox.derived()
    const words = async (kind: string) => {
      const archetypes = (await world.sandbox.ledger(`SampleProfile-${kind}-1`))?.archetypes ?? []
      return new Set(archetypes.map((archetype) => String(archetype['value'])))
    }
    expect(await words('runner')).toContain('cardio_oriented')
    expect(await words('night-owl')).toContain('very_late_riser')
    expect((await words('shift-worker')).has('highly_regular_sleeper')).toBe(false)
    expect(await words('office-worker')).toContain('highly_regular_sleeper')
    expect((await words('phone-only')).has('cardio_oriented')).toBe(false)
  })

  test('can be late, preliminary and vanished, in the ledger as in the answers', async ({ world, onTestFinished }) => {
    onTestFinished(() => world.control('DELETE', '/faults').then(() => undefined))
    await world.sandbox.derived()
    const ledger = async () => (await world.sandbox.ledger(runner))?.biomarkers ?? []
    const whole = await ledger()
    const manyHours = 24 * 365
    await world.control('PUT', '/faults', { name: 'late', rate: 0.2, settings: { hours: manyHours } })
    const partly = await ledger()
    expect(partly.length).toBeGreaterThan(whole.length * 0.7)
    expect(partly.length).toBeLessThan(whole.length * 0.9)
    await world.control('PUT', '/faults', { name: 'revised', rate: 0.2, settings: { hours: manyHours } })
    const revised = await ledger()
    const values = new Map(whole.map((record) => [record['id'], record['value']]))
    const changed = revised.filter((record) => record['value'] !== values.get(record['id']))
    expect(revised.length).toBe(whole.length)
    expect(changed.length).toBeGreaterThan(whole.length * 0.05)
    await world.control('PUT', '/faults', { name: 'vanished', rate: 0.2 })
    expect((await ledger()).length).toBeLessThan(whole.length * 0.9)
    await world.control('DELETE', '/faults')
    expect(await ledger()).toEqual(whole)
  })

  test('grows with the days that the people live, by the clock of the sandbox', async ({ world }) => {
    await world.sandbox.derived()
    const newest = async () => {
      const scores = (await world.sandbox.ledger(office))?.scores ?? []
      return Math.max(...scores.map((score) => Date.parse(String(score['scoreDateTime']))))
    }
    const before = await newest()
    await world.control('POST', '/live', { hours: 48 })
    await world.sandbox.derived()
    expect((await newest()) - before).toBe(48 * 3_600_000)
  })
})
