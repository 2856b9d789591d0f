import { LRUCache } from 'lru-cache'
import type { DerivedKind } from '../../base/contract/derivation-state.ts'
import {
  createProgressLookup,
  type DerivationProgress,
  progressColumnsSql,
  progressJoinsSql,
} from './derivation-progress.ts'
import type { Queryable } from './service-pool.ts'
import { findProfileId } from './service-profiles.ts'

/** Both ends are included, unlike those of a span; an absent end is unbounded. */
export type ClosedRange = { firstAt?: Date | undefined; lastAt?: Date | undefined }

export type DerivedFilter = ClosedRange & {
  names?: readonly string[] | undefined
  categories?: readonly string[] | undefined
  periodicities?: readonly string[] | undefined
  versions?: readonly number[] | undefined
}

/** A profile by its own id, or by an account and the account's name for it. */
export type ProfileReference = { profileId: string } | { accountId: string; externalId: string }

type DerivedRequest = {
  profile: ProfileReference
  kind: DerivedKind
  filter: DerivedFilter
  /** Whether the caller holds the answer of a revision already. Absent: the caller holds none. */
  isHeld?: ((revision: string) => boolean) | undefined
}

/**
 * `json`: JSON text of the matching records, newest first; null when none matches; 'held' when the caller holds it, and
 * then no record was read. The progress belongs to the same snapshot as the records.
 */
type DerivedAnswer = { progress: DerivationProgress; json: Buffer | null | 'held' }

export type DerivedReader = ReturnType<typeof createDerivedReader>

type DerivedRow = DerivationProgress & { profile_id: string; bodies: string | null }

/**
 * No period is longer than 40 days (a check of the table), so the start of a period alone bounds the rows to scan. Open
 * ends are infinite values: an optional condition would keep the planner from using the index.
 */
const filterSql = `d.kind = $2
  and d.period_start between $3::timestamptz - interval '40 days' and $4::timestamptz and d.period_end >= $3::timestamptz
  and ($5::text[] is null or d.name = any($5))
  and ($6::text[] is null or d.category = any($6))
  and ($7::text[] is null or d.periodicity = any($7))
  and ($8::int[] is null or d.version = any($8))`

/** One statement, so progress and records belong to one snapshot. */
const readSql = `select p.profile_id, ${progressColumnsSql}, (
    select string_agg(d.body, ',' order by d.period_start desc, d.name, d.id)
    from service.derived d where d.profile_id = p.profile_id and ${filterSql}) as bodies
  from ${progressJoinsSql}`

const profileIdsMax = 50_000

/**
 * Reads derived records as they are stored, and caches the latest answers, up to `cacheBytesMax`. An answer is cached
 * once, whether the profile itself or its account reads it.
 *
 * Every read validates the cached answer: it asks for the profile's revision, which changes in the same transaction as
 * the profile's records. So a cached answer is as fresh as a read of the records, whichever process wrote them.
 */
export function createDerivedReader(db: Queryable, cacheBytesMax: number) {
  const cache = createAnswerCache(cacheBytesMax)
  const progressOfProfile = createProgressLookup(db)
  /** Profile ids by account and externalId. Only a hint: a deleted profile has no progress. */
  const profileIds = new LRUCache<string, string>({ max: profileIdsMax })
  const nameOf = (profile: ProfileReference) =>
    'profileId' in profile ? undefined : `${profile.accountId} ${profile.externalId}`
  const knownId = (profile: ProfileReference) =>
    'profileId' in profile ? profile.profileId : profileIds.get(nameOf(profile) ?? '')

  /** The answer without reading a record: when the caller holds it, or the cache does. */
  const readWithoutRecords = async (request: DerivedRequest, queryKey: string): Promise<DerivedAnswer | undefined> => {
    const { profile, isHeld } = request
    const profileId = knownId(profile) ?? (isHeld && 'externalId' in profile && (await findProfileId(db, profile)))
    if (!profileId) return undefined
    const cached = cache.get(profileId + queryKey)
    const progress = cached || isHeld ? await progressOfProfile(profileId) : undefined
    if (!progress) return undefined
    const name = nameOf(profile)
    if (name !== undefined) profileIds.set(name, profileId)
    if (isHeld?.(progress.revision)) return { progress, json: 'held' }
    return cached?.revision === progress.revision ? { progress, json: cached.bytes } : undefined
  }

  return {
    /** 'unknown' when no such profile exists. */
    async read(request: DerivedRequest) {
      const values = [request.kind, ...filterValues(request.filter)]
      const queryKey = JSON.stringify(values)
      const short = await readWithoutRecords(request, queryKey)
      if (short) return short

      const { rows } = await db.query<DerivedRow>(statement(request.profile, values))
      const row = rows[0]
      if (!row) return 'unknown'
      const { profile_id: profileId, bodies, ...progress } = row
      const name = nameOf(request.profile)
      if (name !== undefined) profileIds.set(name, profileId)
      if (bodies === null) return { progress, json: null }
      const bytes = jsonArrayOf(bodies)
      cache.set(profileId + queryKey, { revision: progress.revision, bytes })
      return { progress, json: bytes }
    },
    /** Memory that the cache of answers takes. */
    cacheBytes: () => cache.calculatedSize,
  }
}

function statement(profile: ProfileReference, values: unknown[]) {
  if ('profileId' in profile) {
    return { name: 'read-derived', text: `${readSql} where p.profile_id = $1`, values: [profile.profileId, ...values] }
  }
  const text = `${readSql} where p.account_id = $1 and p.external_id = $9`
  return { name: 'read-derived-of', text, values: [profile.accountId, ...values, profile.externalId] }
}

function filterValues({ firstAt, lastAt, names, categories, periodicities, versions }: DerivedFilter): unknown[] {
  return [
    firstAt ?? '-infinity',
    lastAt ?? 'infinity',
    names ?? null,
    categories ?? null,
    periodicities ?? null,
    versions ?? null,
  ]
}

/**
 * The bytes of a JSON array whose elements are `list`. A long answer is mostly ASCII, and copying ASCII is several times
 * as fast as encoding it. The bytes share no block of memory with others, so a cached answer retains nothing else.
 */
function jsonArrayOf(list: string): Buffer {
  const length = Buffer.byteLength(list)
  const bytes = Buffer.allocUnsafeSlow(length + 2)
  bytes.write(list, 1, length === list.length ? 'latin1' : 'utf8')
  bytes[0] = 0x5b // [
  bytes[length + 1] = 0x5d // ]
  return bytes
}

type CachedAnswer = { readonly revision: string; readonly bytes: Buffer }

/** The cost of one entry beside its bytes and its key: the objects around them, and the cache's own bookkeeping. */
const entryOverheadBytes = 500
/** A larger answer is not cached, because it would evict too many others. */
const entriesMin = 8

/** An LRU cache of answers, limited by bytes; keys and bookkeeping are counted. Within a limit of 0 no entry fits. */
const createAnswerCache = (bytesMax: number) =>
  new LRUCache<string, CachedAnswer>({
    maxSize: Math.max(1, bytesMax),
    maxEntrySize: Math.max(1, Math.floor(bytesMax / entriesMin)),
    sizeCalculation: ({ bytes }, key) => bytes.length + key.length * 2 + entryOverheadBytes,
  })
