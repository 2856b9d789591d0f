import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { DemographicInput } from '../../base/contract/demographic.ts'
import type { DeviceInformationInput } from '../../base/contract/device-information.ts'
import { markDaysWithLogs } from './derivation-queue.ts'
import { type Queryable, withTransaction } from './service-pool.ts'
import { lockProfileRow } from './service-profiles.ts'

/** The fields that are set; an absent field is unknown. */
export type StoredDemographics = { [Field in keyof DemographicInput]?: NonNullable<DemographicInput[Field]> }

export async function readDemographics(db: Queryable, profileId: string): Promise<StoredDemographics | undefined> {
  const { rows } = await db.query<{ fields: StoredDemographics }>({
    name: 'read-demographics',
    text: `select fields from service.demographics where profile_id = $1 and fields <> '{}'`,
    values: [profileId],
  })
  return rows[0]?.fields
}

/** The fields that the derivation reads: only a change of these fields makes days due again. */
const derivationFields = ['age', 'gender', 'birthDate'] as const

/**
 * Replaces all fields, or in mode `update` keeps absent fields and clears null fields. Returns the stored fields;
 * undefined when the profile is gone. A change that the derivation reads makes every day with logs due again, and the
 * day of the change, in the same transaction.
 */
export async function writeDemographics(
  pool: pg.Pool,
  change: { profileId: string; fields: DemographicInput; mode: 'replace' | 'update'; nowAt: Date },
): Promise<StoredDemographics | undefined> {
  return withTransaction(pool, async (tx) => {
    if (!(await lockProfileRow(tx, change.profileId))) return undefined
    const before = (await readDemographics(tx, change.profileId)) ?? {}
    const merged = change.mode === 'replace' ? change.fields : { ...before, ...change.fields }
    const after: StoredDemographics = Object.fromEntries(Object.entries(merged).filter(([, value]) => value != null))
    await tx.query(
      `insert into service.demographics (profile_id, fields, changed_at) values ($1, $2, $3)
       on conflict (profile_id) do update set fields = excluded.fields, changed_at = excluded.changed_at`,
      [change.profileId, after, change.nowAt],
    )
    if (derivationFields.some((field) => before[field] !== after[field])) {
      await markDaysWithLogs(tx, change.profileId, change.nowAt)
    }
    return after
  })
}

export type StoredDeviceInformation = {
  id: string
  fields: { [Field in keyof DeviceInformationInput]: DeviceInformationInput[Field] }
}

export async function readDeviceInformation(
  db: Queryable,
  profileId: string,
): Promise<StoredDeviceInformation | undefined> {
  const { rows } = await db.query<StoredDeviceInformation>({
    name: 'read-device',
    text: 'select id, fields from service.device_information where profile_id = $1',
    values: [profileId],
  })
  return rows[0]
}

/** Replaces the profile's device information and keeps its id; undefined when the profile is gone. */
export async function writeDeviceInformation(
  db: Queryable,
  change: { profileId: string; fields: DeviceInformationInput; nowAt: Date },
): Promise<StoredDeviceInformation | undefined> {
  const { rows } = await db.query<StoredDeviceInformation>(
    `insert into service.device_information as d (profile_id, id, fields, changed_at)
     select profile_id, $2::uuid, $3::jsonb, $4::timestamptz from service.profiles where profile_id = $1 for key share
     on conflict (profile_id) do update set fields = excluded.fields, changed_at = excluded.changed_at
     returning d.id, d.fields`,
    [change.profileId, randomUUID(), change.fields, change.nowAt],
  )
  return rows[0]
}
