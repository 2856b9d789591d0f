import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { call, registerProfile, type ServiceAnswer, type ServiceInternals, test } from './service-world.ts'

type Row = { name: string; category?: string; periodicity?: string; day: string; body: Record<string, unknown> }
type Kind = { kind: string; path: string; rows: Row[] }

const [before, after] = ['2026-07-06', '2026-07-20']
const times = (day: string) => ({ startDateTime: `${day}T00:00:00Z`, endDateTime: `${day}T23:59:59Z` })

const score = (name: string, day: string): Row => ({
  ...{ name, day },
  body: {
    ...{ id: randomUUID(), type: name, value: 0.5, state: 'low', createdAt: times(day).endDateTime },
    ...{ factors: [], scoreDateTime: times(day).startDateTime, dataSources: [], version: 1 },
  },
})
const biomarker = (name: string, category: string, periodicity: string, day: string): Row => ({
  ...{ name, category, periodicity, day },
  body: {
    ...{ id: randomUUID(), category, type: name, periodicity, aggregation: 'total', value: '8' },
    ...{ unit: 'count', valueType: 'integer', ...times(day) },
  },
})
const archetype = (name: string, periodicity: string, day: string): Row => ({
  ...{ name, periodicity, day },
  body: {
    ...{ id: randomUUID(), name, value: 'any', dataType: 'ordinal', ordinality: 1, periodicity },
    ...{ ...times(day), version: 1 },
  },
})
const trend = (name: string, category: string, day: string): Row => ({
  ...{ name, category, periodicity: 'weekly', day },
  body: {
    ...{ id: randomUUID(), type: 'trend', category, name, state: 'stable', isHigherBetter: true, unit: 'score' },
    ...{
      periodicity: 'weekly',
      trendStartDateTime: times(day).startDateTime,
      trendEndDateTime: times(day).endDateTime,
    },
    data: [],
  },
})
const comparison = (name: string, category: string, day: string): Row => ({
  ...{ name, category, periodicity: 'daily', day },
  body: {
    ...{ id: randomUUID(), type: 'comparison', category, name, value: 1, unit: 'count', isHigherBetter: true },
    ...{ periodicity: 'daily', ...times(day), data: [] },
  },
})

const kinds: Record<string, Kind> = {
  scores: { kind: 'score', path: 'score', rows: [score('sleep', before), score('activity', after)] },
  biomarkers: {
    ...{ kind: 'biomarker', path: 'biomarker' },
    rows: [
      biomarker('steps', 'activity', 'daily', before),
      biomarker('steps', 'activity', 'weekly', before),
      biomarker('sleep_duration', 'sleep', 'intraday', after),
    ],
  },
  archetypes: {
    ...{ kind: 'archetype', path: 'archetypes' },
    rows: [archetype('sleep_duration', 'weekly', before), archetype('activity_level', 'monthly', after)],
  },
  trends: {
    ...{ kind: 'trend', path: 'insight/trend' },
    rows: [trend('sleep', 'score', before), trend('steps', 'factor', after)],
  },
  comparisons: {
    ...{ kind: 'comparison', path: 'insight/comparison' },
    rows: [comparison('sleep', 'score', before), comparison('steps', 'biomarker', after)],
  },
}

async function insert({ sql }: ServiceInternals, externalId: string, { kind, rows }: Kind) {
  for (const { name, category, periodicity, day, body } of rows) {
    const { startDateTime, endDateTime } = times(day)
    await sql.query(
      `insert into service.derived (profile_id, id, kind, name, category, periodicity, period_start, period_end, version,
         created_at, changed_at, body)
       select profile_id, $2, $3, $4, $5, $6, $7, $8, 1, now(), now(), $9 from service.profiles where external_id = $1`,
      [
        ...[externalId, body['id'], kind, name, category ?? null, periodicity ?? null, startDateTime, endDateTime],
        JSON.stringify(body),
      ],
    )
  }
}

const idsOf = (answer: ServiceAnswer): string[] =>
  answer.status === 204 ? [] : answer.json.map(({ id }: { id: string }) => id).toSorted()

/** The effect of each parameter, found by asking the service. */
async function cellsOf(rows: readonly Row[], ask: (query: string) => Promise<ServiceAnswer>): Promise<string[]> {
  const idsWhere = (holds: (row: Row) => boolean) =>
    rows
      .filter(holds)
      .map(({ body }) => String(body['id']))
      .toSorted()
  const all = idsWhere(() => true)
  const first = rows[0]
  const effect = async (query: string, holds: (row: Row) => boolean) => {
    const answer = await ask(query)
    const found = JSON.stringify(idsOf(answer))
    if (found === JSON.stringify(idsWhere(holds)) && found !== JSON.stringify(all)) return 'filters'
    expect(found).toBe(JSON.stringify(all))
    return answer.headers.get('query-notes') === null ? 'no effect' : 'no effect, noted'
  }
  const share = async (word: string) => {
    const found = JSON.stringify(idsOf(await ask(`periodicity=${word}`)))
    if (found === JSON.stringify(all)) return `\`${word}\`: all`
    if (found === '[]') return `\`${word}\`: none`
    expect(found).toBe(JSON.stringify(idsWhere(({ periodicity }) => periodicity === word)))
    return `\`${word}\`: those`
  }
  return [
    await effect(`startDateTime=2026-07-15`, ({ day }) => day === after),
    await effect(`endDateTime=2026-07-15`, ({ day }) => day === before),
    await effect(`types=${first?.name}`, ({ name }) => name === first?.name),
    await effect(`categories=${first?.category ?? 'sleep'}`, ({ category }) => category === first?.category),
    `${await share('daily')}, ${await share('weekly')}`,
  ]
}

test('docs/reference/service.md says what each of the five parameters does to each kind', async ({ world, inside }) => {
  const page = await readFile(new URL('../../docs/reference/service.md', import.meta.url), 'utf8')
  for (const [name, kind] of Object.entries(kinds)) {
    const person = await registerProfile(world)
    await insert(inside, person.externalId, kind)
    const ask = (query: string) => call(world, `/api/v1/profile/${kind.path}?${query}`, { auth: person.auth })

    const cells = await cellsOf(kind.rows, ask)

    expect(page.split('\n').find((line) => line.startsWith(`| ${name} |`))).toBe(`| ${name} | ${cells.join(' | ')} |`)
  }
})
