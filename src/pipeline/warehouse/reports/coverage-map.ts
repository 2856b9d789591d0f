import { LRUCache } from 'lru-cache'
import { dayNumberFromText, dayText } from '../../../base/time/local-time.ts'
import { MINUTE } from '../../../base/time/units.ts'
import type { EmptyCause } from '../../ledger/empty-causes.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { readDayFaults } from './day-report.ts'

/**
 * `refused` and `quarantined`: people with a refused window, or a record in quarantine, of any day; `never_read`: people of whom the
 * stream was never read; `silent`: people with a silent difference of the last 30 days.
 */
export const troubleKinds = ['refused', 'quarantined', 'never_read', 'silent'] as const
type TroubleKind = (typeof troubleKinds)[number]

type MapSelection = {
  readonly stream: string
  /** `worst`: the people with the most trouble first. `added`: in the order in which they came. */
  readonly sort: 'worst' | 'added'
  readonly only: TroubleKind | undefined
  /** Letters with which an externalId begins, or one of our own ids. */
  readonly search: string
  /** Names are masked: only our own ids are compared with the search. */
  readonly masked?: boolean
}

type MapRow = {
  readonly profileId: string
  readonly externalId: string
  /** A letter a day, as `dayLetters`, `causeLetters` and `partLetters`; a dot where the day is not wanted. */
  readonly cells: string
}

/** `troubled`: people with a refused window or a record in quarantine. `unread`: people without one, of whom the stream was never read. */
type MapCounts = Readonly<Record<TroubleKind | 'troubled' | 'unread', number>>
type MapOrder = { readonly ids: readonly string[]; readonly counts: MapCounts }

const dayLetters = {
  data: 'd',
  empty: 'e',
  unsettled: 'u',
  never_read: 'n',
  refused: 'r',
  quarantined: 'q',
  erased_upstream: 'x',
} as const

/** The letters of days with data where a part was refused, or is in quarantine. */
const partLetters = { refused: 'R', quarantined: 'Q' } as const

const ORDERS_KEPT_MAX = 16
const ORDER_KEPT_MS = MINUTE / 2

type MapPage = { readonly from: number; readonly count: number; readonly lastDay: string; readonly days: number }

export function createCoverageMap({ pool }: { pool: Pool }) {
  const orders = new LRUCache<string, Promise<MapOrder>>({ max: ORDERS_KEPT_MAX, ttl: ORDER_KEPT_MS })
  const orderOf = (selection: MapSelection): Promise<MapOrder> => {
    const key = JSON.stringify(selection)
    const kept = orders.get(key)
    if (kept) return kept
    const asked = readOrder(pool, selection)
    orders.set(key, asked)
    asked.catch(() => orders.delete(key))
    return asked
  }
  return {
    /** The order of all people and their rows from `from` on. The order is kept for half a minute, so that scrolling does not move. */
    async read(selection: MapSelection, { from, count, lastDay, days }: MapPage) {
      const { ids, counts } = await orderOf(selection)
      const shown = ids.slice(from, from + count)
      const rows = await readRows(pool, shown, { stream: selection.stream, lastDay, days })
      return { total: ids.length, counts, rows }
    },
  }
}

async function readOrder(pool: Pool, { stream, sort, only, search, masked }: MapSelection): Promise<MapOrder> {
  const { rows } = await pool.query<{ ids: string | null } & MapOrder['counts']>(orderQuery, [
    stream,
    search,
    masked && search !== '' ? null : `${search.replaceAll(/[\\%_]/g, '\\$&')}%`,
    sort === 'worst',
    only ?? null,
  ])
  const none = { ids: null, refused: 0, quarantined: 0, never_read: 0, silent: 0, troubled: 0, unread: 0 }
  const { ids, ...counts } = rows[0] ?? none
  return { ids: ids?.split(',') ?? [], counts }
}

/** All ids come as one text: a hundred thousand rows would take longer to send and to take apart than to find. */
const orderQuery = `
  with trouble as (
    select profile_id, sum(refused)::int as refused, sum(quarantined)::int as quarantined from (
      select profile_id, count(*)::int as refused, 0 as quarantined from vitalsync.refusals where stream = $1 group by 1
      union all
      select profile_id, 0, count(*)::int from vitalsync.quarantine where stream = $1 and direction = 'pull' group by 1) x
    group by 1
  ), changed as (
    select distinct profile_id from vitalsync.silent_differences
    where stream = $1 and found_at > clock_timestamp() - interval '30 days'
  )
  select count(*) filter (where refused > 0)::int as refused, count(*) filter (where quarantined > 0)::int as quarantined,
    count(*) filter (where never_read)::int as never_read, count(*) filter (where silent)::int as silent, count(*) filter (where refused + quarantined > 0)::int as troubled,
    count(*) filter (where never_read and coalesce(refused + quarantined, 0) = 0)::int as unread,
    string_agg(id::text, ',' order by troubles desc, oldest nulls first, id)
      filter (where case $5 when 'refused' then refused > 0 when 'quarantined' then quarantined > 0
        when 'never_read' then never_read when 'silent' then silent else true end) as ids
  from (
    select l.profile_id as id, l.read_at is null as never_read, c.profile_id is not null as silent, t.refused, t.quarantined,
      case when $4 then coalesce(t.refused + t.quarantined, 0) else 0 end as troubles, case when $4 then l.read_at end as oldest
    from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id left join trouble t on t.profile_id = l.profile_id
    left join changed c on c.profile_id = l.profile_id
    where l.stream = $1 and p.state <> 'gone' and ($2 = '' or p.external_id like $3 or p.id::text = $2)) found`

/** Letters of empty days whose cause says who can help: the person and the sender, or upstream. Other empty days keep the letter of their state. */
const causeLetters: Readonly<Partial<Record<EmptyCause, string>>> = {
  nothing_sent: 's',
  sent_late_expected: 's',
  not_worn: 's',
  partly_sent: 's',
  sent_not_derived: 'f',
}

const causeCases = Object.entries(causeLetters).map(([cause, letter]) => `when cause = '${cause}' then '${letter}'`)
const letterCases = Object.entries(dayLetters).map(([state, letter]) => `when state = '${state}' then '${letter}'`)

/** The view is asked alone: joined with anything but tables of profiles, a divided warehouse would first collect everybody's days. */
const cellsQuery = `
  select external_id as "externalId", $3::date - local_date as "daysAgo", case ${[...causeCases, ...letterCases].join(' ')} end as letter
  from warehouse.days where external_id = any($1) and stream = $2 and local_date between $3::date - $4::int + 1 and $3::date`

type Cell = { readonly externalId: string; readonly daysAgo: number; readonly letter: string }

async function readRows(
  pool: Pool,
  profileIds: readonly string[],
  { stream, lastDay, days }: { readonly stream: string; readonly lastDay: string; readonly days: number },
): Promise<MapRow[]> {
  const { rows: people } = await pool.query<{ id: string; externalId: string }>(
    'select id::text as id, external_id as "externalId" from vitalsync.profiles where id = any($1::int8[])',
    [profileIds],
  )
  const names = people.map(({ externalId }) => externalId)
  const { rows: cells } = await pool.query<Cell>(cellsQuery, [names, stream, lastDay, days])
  const firstDay = dayNumberFromText(lastDay) - days + 1
  const faults = await readDayFaults(pool, { profileIds, fromDay: dayText(firstDay), lastDay, stream })
  const faultsOf = Map.groupBy(faults, (fault) => fault.profileId)
  const cellsOf = Map.groupBy(cells, ({ externalId }) => externalId)
  const nameOf = new Map(people.map(({ id, externalId }) => [id, externalId]))
  return profileIds.flatMap((profileId) => {
    const externalId = nameOf.get(profileId)
    if (externalId === undefined) return [] // erased meanwhile
    const letters = Array<string>(days).fill('.')
    for (const { daysAgo, letter } of cellsOf.get(externalId) ?? []) letters[days - 1 - daysAgo] = letter
    for (const { day, state } of faultsOf.get(profileId) ?? []) {
      const at = dayNumberFromText(day) - firstDay
      if (letters[at] === dayLetters.data) letters[at] = partLetters[state]
    }
    return [{ profileId, externalId, cells: letters.join('') }]
  })
}
