import type { Pool } from '../postgres/warehouse-pool.ts'
import { type DayState, readDayFaults } from './day-report.ts'

type FoundPerson = { readonly profileId: string; readonly externalId: string; readonly state: string }

const FOUND_MAX = 20

/** People whose externalId begins so, or the one with our own id. */
export async function searchPeople(
  pool: Pool,
  { search = '', profileId }: { readonly search?: string; readonly profileId?: string },
): Promise<FoundPerson[]> {
  const ownId = profileId ?? (/^\d{1,18}$/.test(search) ? search : null)
  const prefix = profileId === undefined ? `${search.replaceAll(/[\\%_]/g, '\\$&')}%` : null
  // The names are compared letter by letter, so that the index of the names serves the prefix.
  const found = await pool.query<Omit<FoundPerson, 'state'>>(
    `select id::text as "profileId", external_id as "externalId" from vitalsync.names
     where id = $1::int8 or external_id like $2 order by (id = $1::int8) desc nulls last, external_id limit ${FOUND_MAX}`,
    [ownId, prefix],
  )
  const { rows } = await pool.query<{ id: string; state: string }>(
    'select id::text, state from vitalsync.profiles where id = any($1::int8[])',
    [found.rows.map((row) => row.profileId)],
  )
  const states = new Map(rows.map(({ id, state }) => [id, state]))
  return found.rows.flatMap((row) => {
    const state = states.get(row.profileId)
    return state === undefined ? [] : [{ ...row, state }] // erased between the two statements
  })
}

/** `part`: what is missing of a day with data. */
type PersonDay = { readonly day: string; readonly state: DayState; readonly part?: 'quarantined' | 'refused' }
type PersonDays = { readonly stream: string; readonly days: PersonDay[] }

/** The states of a person's last days, per stream. */
export async function readPersonDays(
  pool: Pool,
  { profileId, days }: { readonly profileId: string; readonly days: number },
): Promise<PersonDays[]> {
  const { rows } = await pool.query<PersonDays>(
    `select d.stream, json_agg(json_build_object('day', d.local_date::text, 'state', d.state) order by d.local_date) as days
     from warehouse.days d
     where d.external_id = (select external_id from vitalsync.profiles where id = $1)
       and d.local_date > current_date - $2::int and d.local_date <= current_date
     group by d.stream order by d.stream`,
    [profileId, days],
  )
  const shown = rows.flatMap((row) => row.days.map(({ day }) => day)).toSorted()
  const [fromDay, lastDay] = [shown[0], shown.at(-1)]
  if (fromDay === undefined || lastDay === undefined) return rows
  const faults = await readDayFaults(pool, { profileIds: [profileId], fromDay, lastDay })
  const faultOf = new Map(faults.map(({ stream, day, state }) => [`${stream} ${day}`, state]))
  return rows.map(({ stream, days: states }) => ({
    stream,
    days: states.map(({ day, state }) => {
      const part = state === 'data' ? faultOf.get(`${stream} ${day}`) : undefined
      return { day, state, ...(part && { part }) }
    }),
  }))
}

/** The types of the scores of a day that are stored. */
export async function readScoreTypes(
  pool: Pool,
  { profileId, localDate }: { readonly profileId: string; readonly localDate: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ type: string }>(
    'select distinct type from vitalsync.scores where profile_id = $1 and local_date = $2 and gone_at is null',
    [profileId, localDate],
  )
  return rows.map(({ type }) => type)
}
