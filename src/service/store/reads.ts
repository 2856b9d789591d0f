import type { Queryable } from './pool.ts'

export type DerivedKind = 'score' | 'biomarker' | 'archetype' | 'trend' | 'comparison'

/** Both ends belong to it; an absent end is unbounded. */
export type ReadWindow = { from?: Date | undefined; to?: Date | undefined }

export type DerivedFilter = ReadWindow & {
  names?: readonly string[] | undefined
  categories?: readonly string[] | undefined
  periodicities?: readonly string[] | undefined
  versions?: readonly number[] | undefined
}

/** No period is longer (a check of the table): so the index on its start alone bounds what has to be looked at. */
const periodMax = `interval '40 days'`

const matching = `d.kind = $2
  and ($3::timestamptz is null or (d.period_start >= $3 - ${periodMax} and d.period_end >= $3))
  and ($4::timestamptz is null or d.period_start <= $4)
  and ($5::text[] is null or d.name = any($5))
  and ($6::text[] is null or d.category = any($6))
  and ($7::text[] is null or d.periodicity = any($7))
  and ($8::int[] is null or d.version = any($8))`

const listed = `'[' || string_agg(d.body, ',' order by d.period_start desc, d.name, d.id) || ']'`

/** The JSON text of the records that match, newest first, joined from what is stored; undefined when there are none. */
export async function readDerived(
  db: Queryable,
  of: { profileId: string; kind: DerivedKind; filter: DerivedFilter },
): Promise<string | undefined> {
  const { rows } = await db.query<{ body: string | null }>({
    name: 'read-derived',
    text: `select ${listed} as body from service.derived d where d.profile_id = $1 and ${matching}`,
    values: [of.profileId, of.kind, ...filterValues(of.filter)],
  })
  return rows[0]?.body ?? undefined
}

/** The same by the account's own name of the profile, in one round trip; 'unknown' when it has no such profile. */
export async function readDerivedOf(
  db: Queryable,
  of: { accountId: string; externalId: string; kind: DerivedKind; filter: DerivedFilter },
): Promise<string | 'unknown' | undefined> {
  const { rows } = await db.query<{ body: string | null }>({
    name: 'read-derived-of',
    text: `select (select ${listed} from service.derived d where d.profile_id = p.profile_id and ${matching}) as body
           from service.profiles p where p.account_id = $1 and p.external_id = $9`,
    values: [of.accountId, of.kind, ...filterValues(of.filter), of.externalId],
  })
  if (rows.length === 0) return 'unknown'
  return rows[0]?.body ?? undefined
}

function filterValues(filter: DerivedFilter): unknown[] {
  const { from, to, names, categories, periodicities, versions } = filter
  return [from ?? null, to ?? null, names ?? null, categories ?? null, periodicities ?? null, versions ?? null]
}
