import { createKeptAnswers } from './kept-answers.ts'
import type { Queryable } from './pool.ts'
import { createRevisionLook } from './revisions.ts'

export type DerivedKind = 'score' | 'biomarker' | 'archetype' | 'trend' | 'comparison'

/** Both ends belong to it; an absent end is unbounded. */
export type ReadWindow = { from?: Date | undefined; to?: Date | undefined }

export type DerivedFilter = ReadWindow & {
  names?: readonly string[] | undefined
  categories?: readonly string[] | undefined
  periodicities?: readonly string[] | undefined
  versions?: readonly number[] | undefined
}

/** Whose records: by the profile itself, or by an account's own name for it. */
export type DerivedOf = { profileId: string } | { accountId: string; externalId: string }

export type DerivedRead = { of: DerivedOf; kind: DerivedKind; filter: DerivedFilter }

/** JSON text of the records that match, newest first; undefined when there are none; 'unknown' when there is no such profile. */
export type DerivedAnswer = Buffer | undefined | 'unknown'

export type DerivedReader = {
  read(read: DerivedRead): Promise<DerivedAnswer>
  /** Memory that kept answers take. */
  keptBytes(): number
}

type Row = { profile_id: string; revision: string | null; bodies: string | null }

/**
 * No period is longer (a check of the table), so its start alone bounds what has to be looked at. Open ends are infinite
 * ones: a condition that may or may not be there would keep the planner from using the index for it.
 */
const matching = `d.kind = $2
  and d.period_start between $3::timestamptz - interval '40 days' and $4::timestamptz and d.period_end >= $3::timestamptz
  and ($5::text[] is null or d.name = any($5))
  and ($6::text[] is null or d.category = any($6))
  and ($7::text[] is null or d.periodicity = any($7))
  and ($8::int[] is null or d.version = any($8))`

/** Revision and records are of one snapshot: it is one statement. */
const readSql = `select p.profile_id, r.revision, (
    select string_agg(d.body, ',' order by d.period_start desc, d.name, d.id)
    from service.derived d where d.profile_id = p.profile_id and ${matching}) as bodies
  from service.profiles p left join service.derived_revisions r using (profile_id)`

const namesMax = 50_000

/**
 * Reads derived records as they are stored, and keeps the last answers, up to `keptBytesMax`, to send again. An answer is
 * kept once, whether it was read by the profile itself or by its account.
 *
 * A kept answer is never taken on trust: each read asks for the profile's revision, which changes in the very
 * transaction that changes its records. So an answer is as fresh as if it had been read, whoever wrote and wherever.
 */
export function createDerivedReader(db: Queryable, keptBytesMax: number): DerivedReader {
  const kept = createKeptAnswers(keptBytesMax)
  const revisionNow = createRevisionLook(db)
  /** Only a hint where to look among the kept: a name that has gone to another profile finds no revision there. */
  const profileOfName = new Map<string, string>()

  return {
    async read({ of, kind, filter }) {
      const values = [kind, ...filterValues(filter)]
      const asked = JSON.stringify(values)
      const name = 'profileId' in of ? undefined : `${of.accountId} ${of.externalId}`
      const profileId = 'profileId' in of ? of.profileId : profileOfName.get(name ?? '')
      const known = profileId === undefined ? undefined : kept.get(profileId + asked)
      if (profileId !== undefined && known && known.revision === (await revisionNow(profileId))) return known.bytes

      const { rows } = await db.query<Row>(statement(of, values))
      const row = rows[0]
      if (!row) return 'unknown'
      if (row.bodies === null) return undefined
      const bytes = arrayOf(row.bodies)
      if (row.revision !== null) kept.put(row.profile_id + asked, { revision: row.revision, bytes })
      if (name !== undefined) {
        if (profileOfName.size >= namesMax) profileOfName.clear()
        profileOfName.set(name, row.profile_id)
      }
      return bytes
    },
    keptBytes: kept.bytesTaken,
  }
}

function statement(of: DerivedOf, values: unknown[]) {
  if ('profileId' in of) {
    return { name: 'read-derived', text: `${readSql} where p.profile_id = $1`, values: [of.profileId, ...values] }
  }
  const text = `${readSql} where p.account_id = $1 and p.external_id = $9`
  return { name: 'read-derived-of', text, values: [of.accountId, ...values, of.externalId] }
}

function filterValues({ from, to, names, categories, periodicities, versions }: DerivedFilter): unknown[] {
  return [
    from ?? '-infinity',
    to ?? 'infinity',
    names ?? null,
    categories ?? null,
    periodicities ?? null,
    versions ?? null,
  ]
}

/**
 * The bytes of a JSON array of what stands in `list`. A long answer is mostly ASCII, and copying that is several times as
 * fast as encoding it. The bytes share no block of memory with others, so that an answer that is kept keeps nothing else.
 */
function arrayOf(list: string): Buffer {
  const length = Buffer.byteLength(list)
  const bytes = Buffer.allocUnsafeSlow(length + 2)
  bytes.write(list, 1, length === list.length ? 'latin1' : 'utf8')
  bytes[0] = 0x5b // [
  bytes[length + 1] = 0x5d // ]
  return bytes
}
