import { fork } from 'node:child_process'
import { once } from 'node:events'
import pg from 'pg'
import { addServiceKey } from '../../src/app/service-accounts.ts'
import { createLog } from '../../src/base/log.ts'
import { migrateService } from '../../src/service/store/migrate-service.ts'
import { cannedBody, firstDay, type PulledName, pulledNames } from './canned.ts'
import { type Engines, endOf } from './engines.ts'
import { people } from './subject.ts'

export type RealService = {
  readonly url: string
  /** The credentials that let the pipeline in. */
  readonly settings: Readonly<Record<string, string>>
  close(): Promise<void>
}

const kinds: Record<PulledName, string> = {
  scores: 'score',
  biomarkers: 'biomarker',
  archetypes: 'archetype',
  trends: 'trend',
  comparisons: 'comparison',
}

/** The Profile Service itself, holding for each person the very records that the fast upstream sends. */
export async function startRealService(engines: Engines, profiles: number): Promise<RealService> {
  const databaseUrl = await engines.database()
  await migrateService(databaseUrl)
  const key = await addServiceKey(
    { databaseUrl, nowAt: new Date(), log: createLog({ level: 'silent' }) },
    { account: 'bench', kind: 'client', label: '' },
  )
  await fill(databaseUrl, profiles)
  const child = fork(new URL('./service-process.ts', import.meta.url), [databaseUrl], { execArgv: [] })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return {
    url,
    settings: { UPSTREAM_CLIENT_ID: key.publicId, UPSTREAM_CLIENT_SECRET: key.secret },
    async close() {
      await endOf(child)
      await engines.drop(databaseUrl)
    },
  }
}

async function fill(databaseUrl: string, profiles: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `insert into service.profiles (profile_id, account_id, external_id, search_text, created_at)
     select gen_random_uuid(), account_id, external_id, lower(external_id), now() from service.accounts, unnest($1::text[]) external_id`,
    [people(profiles)],
  )
  for (const name of pulledNames) {
    await client.query(
      `insert into service.derived (profile_id, id, kind, name, category, periodicity, period_start, period_end,
         created_at, changed_at, body)
       select p.profile_id, gen_random_uuid(), $2, coalesce(r ->> 'name', r ->> 'type'), r ->> 'category', r ->> 'periodicity',
         s.start, s.start + interval '23 hours', now(), now(), r::text
       from service.profiles p, json_array_elements($1::json) r,
         lateral (select coalesce(r ->> 'scoreDateTime', r ->> 'trendStartDateTime', r ->> 'startDateTime')::timestamptz as start) s`,
      [cannedBody(name, { fromMs: firstDay(Date.now()), changed: false }), kinds[name]],
    )
  }
  await client.query('vacuum analyze')
  await client.end()
}
