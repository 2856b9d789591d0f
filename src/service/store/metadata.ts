import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { DemographicInput } from '../../contract/demographic.ts'
import type { DeviceInformationInput } from '../../contract/device-information.ts'
import { type Queryable, withTransaction } from './pool.ts'

/** The fields that are set; what is absent is unknown. */
export type Demographics = { [Field in keyof DemographicInput]?: NonNullable<DemographicInput[Field]> }

export async function readDemographics(db: Queryable, profileId: string): Promise<Demographics | undefined> {
  const { rows } = await db.query<{ fields: Demographics }>({
    name: 'read-demographics',
    text: `select fields from service.demographics where profile_id = $1 and fields <> '{}'`,
    values: [profileId],
  })
  return rows[0]?.fields
}

/** What the derivation reads: only a change of these makes days due again. */
const derivedFrom = ['age', 'gender', 'birthDate'] as const

/**
 * Replaces all fields, or in `update` keeps what is absent and clears what is null. Answers the result; undefined when
 * the profile is gone. What changes the derivation makes every day with logs due again, and the day of the change,
 * in the same transaction.
 */
export async function writeDemographics(
  pool: pg.Pool,
  change: { profileId: string; fields: DemographicInput; mode: 'replace' | 'update'; now: Date },
): Promise<Demographics | undefined> {
  return withTransaction(pool, async (tx) => {
    const locked = await tx.query('select from service.profiles where profile_id = $1 for no key update', [
      change.profileId,
    ])
    if (locked.rowCount === 0) return undefined
    const before = (await readDemographics(tx, change.profileId)) ?? {}
    const merged = change.mode === 'replace' ? change.fields : { ...before, ...change.fields }
    const after: Demographics = Object.fromEntries(Object.entries(merged).filter(([, value]) => value != null))
    await tx.query(
      `insert into service.demographics (profile_id, fields, changed_at) values ($1, $2, $3)
       on conflict (profile_id) do update set fields = excluded.fields, changed_at = excluded.changed_at`,
      [change.profileId, after, change.now],
    )
    if (derivedFrom.some((field) => before[field] !== after[field])) {
      await markEveryDay(tx, change.profileId, change.now)
    }
    return after
  })
}

async function markEveryDay(tx: Queryable, profileId: string, now: Date): Promise<void> {
  await tx.query(
    `insert into service.dirty_days (profile_id, local_day, marked_at)
     select $1, day, $2 from (
       select start_day as day from service.logs where profile_id = $1
       union select end_day from service.logs where profile_id = $1
       union select $2::timestamptz::date) days
     on conflict (profile_id, local_day) do update set mark = excluded.mark`,
    [profileId, now],
  )
}

export type StoredDevice = {
  id: string
  fields: { [Field in keyof DeviceInformationInput]: DeviceInformationInput[Field] }
}

export async function readDevice(db: Queryable, profileId: string): Promise<StoredDevice | undefined> {
  const { rows } = await db.query<StoredDevice>({
    name: 'read-device',
    text: 'select id, fields from service.device_information where profile_id = $1',
    values: [profileId],
  })
  return rows[0]
}

/** Replaces the profile's device information, keeping its id; undefined when the profile is gone. */
export async function writeDevice(
  db: Queryable,
  change: { profileId: string; fields: DeviceInformationInput; now: Date },
): Promise<StoredDevice | undefined> {
  const { rows } = await db.query<StoredDevice>(
    `insert into service.device_information as d (profile_id, id, fields, changed_at)
     select profile_id, $2::uuid, $3::jsonb, $4::timestamptz from service.profiles where profile_id = $1 for key share
     on conflict (profile_id) do update set fields = excluded.fields, changed_at = excluded.changed_at
     returning d.id, d.fields`,
    [change.profileId, randomUUID(), change.fields, change.now],
  )
  return rows[0]
}
