import { LRUCache } from 'lru-cache'
import { MINUTE } from '../../base/time/units.ts'
import type { Queryable } from './service-pool.ts'
import { type ProfileRow, profileAnswer, profileColumns, searchTextOf } from './service-profiles.ts'

type ProfileQuery = { accountId: string; searchParameter: string | undefined; page: number; pageSize: number }

export type ProfileSearch = ReturnType<typeof createProfileSearch>

/** Where the page before ended. */
type Place = { afterExternalId: string; totalCount: number }

const placesMax = 2000
const placeKeptMs = MINUTE

/**
 * Pages are counted by the caller, and a page far behind costs as much as all before it. So the end of a page is kept for a
 * minute, with the count: a caller who reads page after page pays for each page once, sees no profile twice when others come
 * and go, and has one count throughout. The first page is always counted again.
 */
export function createProfileSearch(db: Queryable) {
  const places = new LRUCache<string, Place>({ max: placesMax, ttl: placeKeptMs })
  return {
    /** Profiles whose externalId contains the search text, in any case, ordered by externalId. */
    async find({ accountId, searchParameter, page, pageSize }: ProfileQuery) {
      const text = searchTextOf(searchParameter ?? '')
      const keyOf = (number: number) => JSON.stringify([accountId, text, pageSize, number])
      const place = page > 1 ? places.get(keyOf(page)) : undefined
      const totalCount = place?.totalCount ?? (await countProfiles(db, accountId, text))
      const offset = place ? 0 : (page - 1) * pageSize
      const after = place?.afterExternalId ?? null
      const rows = offset < totalCount ? await readPage(db, { accountId, text, after, pageSize, offset }) : []
      const last = rows.at(-1)
      if (last) places.set(keyOf(page + 1), { afterExternalId: last.externalId, totalCount })
      return { items: rows.map(profileAnswer), totalCount }
    },
  }
}

const matches = `p.account_id = $1 and ($2 = '' or strpos(p.search_text, $2) > 0)`

async function countProfiles(db: Queryable, accountId: string, text: string): Promise<number> {
  const { rows } = await db.query<{ count: string }>({
    name: 'count-profiles',
    text: `select count(*) as count from service.profiles p where ${matches}`,
    values: [accountId, text],
  })
  return Number(rows[0]?.count ?? 0)
}

/** The index alone says who is on the page; the other columns are read of these profiles only. */
async function readPage(
  db: Queryable,
  page: { accountId: string; text: string; after: string | null; pageSize: number; offset: number },
): Promise<ProfileRow[]> {
  const { rows } = await db.query<ProfileRow>({
    name: 'search-profiles',
    text: `with page as materialized (
             select p.external_id from service.profiles p
             where ${matches} and p.external_id > coalesce($3, '') order by p.external_id limit $4 offset $5)
           select ${profileColumns} from page join service.profiles p using (external_id) where p.account_id = $1
           order by p.external_id`,
    values: [page.accountId, page.text, page.after, page.pageSize, page.offset],
  })
  return rows
}
