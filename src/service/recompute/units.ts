import { createHash } from 'node:crypto'
import type { Derivation } from '../derive/derivation.ts'
import { draftsOfComparedDay, draftsOfDay, draftsOfMonth, draftsOfWeek } from '../derive/derive.ts'
import { comparedUnit, type Draft, dayUnit, monthUnit, served, weekUnit } from '../derive/records.ts'
import { dropRecords, type RecordToWrite, readRecords, type StoredRecord, writeRecords } from '../store/derived-days.ts'
import type { Queryable } from '../store/pool.ts'
import type { Units } from './reach.ts'

/**
 * Derives some units again and writes what became different: a record whose content is what it was is not touched, one
 * that changed keeps its id and its first date and counts its version up, one that nothing gives any more goes.
 */
export async function writeUnits(
  tx: Queryable,
  { derivation, units, now }: { derivation: Derivation; units: Units; now: Date },
): Promise<{ written: number; dropped: number }> {
  const names = [
    ...units.days.map(dayUnit),
    ...units.compared.map(comparedUnit),
    ...units.mondays.map(weekUnit),
    ...units.months.map(monthUnit),
  ]
  if (names.length === 0) return { written: 0, dropped: 0 }
  const { profileId } = derivation
  const stored = await readRecords(tx, { profileId, units: names })
  const drafts = [
    ...units.days.flatMap((day) => draftsOfDay(derivation, day)),
    ...units.compared.flatMap((day) => draftsOfComparedDay(derivation, day)),
    ...units.mondays.flatMap((monday) => draftsOfWeek(derivation, monday)),
    ...units.months.flatMap((first) => draftsOfMonth(derivation, first)),
  ]
  const records = drafts.flatMap((draft) => changedRecord(draft, { before: stored.get(draft.id), now }) ?? [])
  const given = new Set(drafts.map(({ id }) => id))
  const gone = [...stored.keys()].filter((id) => !given.has(id))
  await writeRecords(tx, { profileId, now, records })
  await dropRecords(tx, profileId, gone)
  return { written: records.length, dropped: gone.length }
}

function changedRecord(
  draft: Draft,
  { before, now }: { before: StoredRecord | undefined; now: Date },
): RecordToWrite | null {
  const content = createHash('md5')
    .update(JSON.stringify([draft.body, draft.startAt, draft.endAt]))
    .digest('base64')
  if (before?.content === content) return null
  const version = (before?.version ?? 0) + 1
  const createdAt = before?.createdAt ?? now.toISOString()
  const { body: _, ...rest } = draft
  return { ...rest, version, createdAt, content, body: JSON.stringify(served(draft, { createdAt, version })) }
}
