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

/** Whose records: by the profile itself, or by an account's own name for it. */
export type DerivedOf = { profileId: string } | { accountId: string; externalId: string }

export type DerivedRead = { of: DerivedOf; kind: DerivedKind; filter: DerivedFilter }

/** JSON text of the records that match, newest first; undefined when there are none; 'unknown' when there is no such profile. */
export type DerivedAnswer = Buffer | undefined | 'unknown'

export type DerivedReader = { read(read: DerivedRead): Promise<DerivedAnswer> }

type Kept = { revision: string; bytes: Buffer }
type Row = { revision: string | null; body: string | null }

/** No period is longer (a check of the table): so the index on its start alone bounds what has to be looked at. */
const periodMax = `interval '40 days'`

const matching = `d.kind = $3
  and ($4::timestamptz is null or (d.period_start >= $4 - ${periodMax} and d.period_end >= $4))
  and ($5::timestamptz is null or d.period_start <= $5)
  and ($6::text[] is null or d.name = any($6))
  and ($7::text[] is null or d.category = any($7))
  and ($8::text[] is null or d.periodicity = any($8))
  and ($9::int[] is null or d.version = any($9))`

/** Revision and records are of one snapshot. The records are joined only where the revision is not the one known ($2). */
const answerSql = `select r.revision, case when r.revision = $2::bigint then null else (
    select '[' || string_agg(d.body, ',' order by d.period_start desc, d.name, d.id) || ']'
    from service.derived d where d.profile_id = p.profile_id and ${matching}) end as body
  from service.profiles p left join service.derived_revisions r using (profile_id)`

/**
 * Reads derived records as they are stored, and keeps the last answers, up to `bytesMax`, to send again.
 *
 * A kept answer is never taken on trust: each read asks for the profile's revision, which changes in the very
 * transaction that changes its records. So an answer is as fresh as if it had been read, whoever wrote and wherever.
 */
export function createDerivedReader(db: Queryable, bytesMax: number): DerivedReader {
  const kept = createShelf(bytesMax)
  return {
    async read({ of, kind, filter }) {
      const values = [kind, ...filterValues(filter)]
      const key = JSON.stringify([of, values])
      const known = kept.get(key)
      const { rows } = await db.query<Row>({ ...target(of, known?.revision, values) })
      const row = rows[0]
      if (!row) return 'unknown'
      if (known && row.revision === known.revision) return known.bytes
      if (row.body === null) return undefined
      const bytes = bytesOf(row.body)
      if (row.revision !== null) kept.put(key, { revision: row.revision, bytes })
      return bytes
    },
  }
}

function target(of: DerivedOf, revision: string | undefined, values: unknown[]) {
  if ('profileId' in of) {
    const text = `${answerSql} where p.profile_id = $1`
    return { name: 'read-derived', text, values: [of.profileId, revision ?? null, ...values] }
  }
  const text = `${answerSql} where p.account_id = $1 and p.external_id = $10`
  return { name: 'read-derived-of', text, values: [of.accountId, revision ?? null, ...values, of.externalId] }
}

function filterValues(filter: DerivedFilter): unknown[] {
  const { from, to, names, categories, periodicities, versions } = filter
  return [from ?? null, to ?? null, names ?? null, categories ?? null, periodicities ?? null, versions ?? null]
}

/** A long answer is mostly ASCII, and copying that is several times as fast as encoding it. */
function bytesOf(text: string): Buffer {
  return Buffer.from(text, Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8')
}

/** Keeps what was used last, within a number of bytes. */
function createShelf(bytesMax: number) {
  const shelf = new Map<string, Kept>()
  let bytes = 0
  const remove = (key: string) => {
    bytes -= shelf.get(key)?.bytes.length ?? 0
    shelf.delete(key)
  }
  return {
    get(key: string): Kept | undefined {
      const found = shelf.get(key)
      if (!found) return undefined
      shelf.delete(key)
      shelf.set(key, found)
      return found
    },
    put(key: string, value: Kept): void {
      remove(key)
      if (value.bytes.length > bytesMax / 8) return
      shelf.set(key, value)
      bytes += value.bytes.length
      for (const oldest of shelf.keys()) {
        if (bytes <= bytesMax) break
        remove(oldest)
      }
    },
  }
}
