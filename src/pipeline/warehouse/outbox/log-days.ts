import { coverMinutes, type DayMinutes, markMinutes, noMinutes } from '../../../base/contract/log-evidence.ts'
import { DAY } from '../../../base/time/units.ts'
import type { OutboxItem } from '../../transfer/parcel.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { pipelined, type Tx } from '../postgres/warehouse-pool.ts'
import type { ParcelPlace } from './stored-parcels.ts'

type PlacedItem = ParcelPlace & { readonly item: OutboxItem }

/** The evidence of the added items about one person, local day and kind of log. */
type LogDay = {
  readonly profileId: string
  readonly day: number
  readonly kind: string
  readonly minutes: DayMinutes
  device: string
  firstAtMs: number
  lastAtMs: number
  firstParcel: number
  lastParcel: number
  isRevised: boolean
}

type AddDaysOptions = {
  readonly now: () => number
  readonly cameBefore: ReadonlySet<OutboxItem | undefined>
  /** By profile, under its lock: whether the mark is there already. */
  readonly isUploaded: ReadonlyMap<string, boolean>
}

/**
 * Records which days and minutes the logs cover, in the transaction that adds them. Only ever more is known: minutes are joined, and the
 * first and the last upload move apart, so that the outcome does not depend on the order of the additions, and the same addition again
 * changes nothing. Also marks that the people's habits have to be computed again.
 */
export async function addLogDays(
  tx: Tx,
  placed: readonly PlacedItem[],
  { now, cameBefore, isUploaded }: AddDaysOptions,
): Promise<void> {
  const days = logDaysOf(placed, cameBefore, now())
  if (days.length === 0) return
  const adding = tx.query({
    name: 'add log days',
    text: `insert into vitalsync.log_days as d (profile_id, local_date, kind, minutes, first_at, last_at, device, first_parcel, last_parcel, revised)
      select profile_id, local_date, kind, minutes, first_at, last_at, device, first_parcel, last_parcel, revised
      from unnest($1::int8[], $2::date[], $3::text[], $4::varbit[], $5::text[], $6::int8[], $7::int8[], $8::bool[], $9::timestamptz[], $10::timestamptz[])
        as i(profile_id, local_date, kind, minutes, device, first_parcel, last_parcel, revised, first_at, last_at)
      on conflict (profile_id, local_date, kind) do update set minutes = d.minutes | excluded.minutes,
        first_at = least(d.first_at, excluded.first_at), last_at = greatest(d.last_at, excluded.last_at),
        device = case when (excluded.last_at, excluded.device) > (d.last_at, d.device) then excluded.device else d.device end,
        first_parcel = least(d.first_parcel, excluded.first_parcel), last_parcel = greatest(d.last_parcel, excluded.last_parcel),
        revised = d.revised or excluded.revised`,
    values: [
      binaryColumn('int8', days, ({ profileId }) => profileId),
      binaryColumn('date', days, ({ day }) => day * DAY),
      binaryColumn('text', days, ({ kind }) => kind),
      binaryColumn('varbit', days, ({ minutes }) => Buffer.from(minutes.buffer).toString('latin1')),
      binaryColumn('text', days, ({ device }) => device),
      binaryColumn('int8', days, ({ firstParcel }) => firstParcel),
      binaryColumn('int8', days, ({ lastParcel }) => lastParcel),
      binaryColumn('bool', days, ({ isRevised }) => isRevised),
      binaryColumn('timestamptz', days, ({ firstAtMs }) => Math.round(firstAtMs * 1000)),
      binaryColumn('timestamptz', days, ({ lastAtMs }) => Math.round(lastAtMs * 1000)),
    ],
  })
  const unmarked = [...new Set(days.map(({ profileId }) => profileId))].filter((id) => !isUploaded.get(id))
  const marking =
    unmarked.length === 0
      ? []
      : [tx.query('update vitalsync.profiles set uploaded = true where id = any($1::int8[])', [unmarked])]
  await pipelined<unknown>([adding, ...marking])
}

/** In the order of the table's key: neighbours in the input become neighbours on disk. */
function logDaysOf(
  placed: readonly PlacedItem[],
  cameBefore: ReadonlySet<OutboxItem | undefined>,
  nowMs: number,
): LogDay[] {
  const days = new Map<string, LogDay>()
  for (const { item, parcelId } of placed) {
    const { evidence, profileId } = item
    if (!evidence) continue
    const { kind, device, handedInAtMs: atMs = nowMs } = evidence
    const parcel = Number(parcelId)
    markMinutes({ startMs: item.startAtMs, endMs: item.endAtMs }, evidence, (day, from, to) => {
      const key = `${day} ${kind} ${profileId}`
      let known = days.get(key)
      if (!known) {
        const minutes = noMinutes()
        const [times, parcels] = [
          { firstAtMs: atMs, lastAtMs: atMs },
          { firstParcel: parcel, lastParcel: parcel },
        ]
        known = { profileId, day, kind, minutes, device, ...times, ...parcels, isRevised: false }
        days.set(key, known)
      }
      coverMinutes(known.minutes, from, to)
      known.firstParcel = Math.min(known.firstParcel, parcel)
      known.lastParcel = Math.max(known.lastParcel, parcel)
      if (atMs > known.lastAtMs || (atMs === known.lastAtMs && device > known.device)) known.device = device
      known.firstAtMs = Math.min(known.firstAtMs, atMs)
      known.lastAtMs = Math.max(known.lastAtMs, atMs)
      known.isRevised ||= cameBefore.has(item)
    })
  }
  return [...days.values()].toSorted(
    (a, b) => Number(a.profileId) - Number(b.profileId) || a.day - b.day || (a.kind < b.kind ? -1 : 1),
  )
}
