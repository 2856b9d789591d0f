import { createHash } from 'node:crypto'
import type { Derivation } from '../derive/days/derivation.ts'
import { monthArchetypeDrafts } from '../derive/records/archetype-records.ts'
import { comparedUnit, type Draft, dayUnit, monthUnit, servedBody, weekUnit } from '../derive/records/draft.ts'
import { draftsOfComparedDay, draftsOfDay, draftsOfWeek } from '../derive/records/drafts-by-unit.ts'
import {
  type DerivedRecordRow,
  deleteDerivedRecords,
  readDerivedRecords,
  type StoredDerivedRecord,
  storeDerivedRecords,
} from '../store/derived-records.ts'
import type { Queryable } from '../store/service-pool.ts'
import type { DerivationUnits } from './reach.ts'

/**
 * Derives the records of some units again and writes the changes. A record with the same content is not written; a
 * changed record keeps its id and `createdAt` and gets the next version; a record that is no longer derived is deleted.
 */
export async function writeUnits(
  tx: Queryable,
  { derivation, units, nowAt }: { derivation: Derivation; units: DerivationUnits; nowAt: Date },
): Promise<void> {
  const names = [
    ...units.days.map(dayUnit),
    ...units.compared.map(comparedUnit),
    ...units.mondays.map(weekUnit),
    ...units.months.map(monthUnit),
  ]
  if (names.length === 0) return
  const { profileId } = derivation
  const stored = await readDerivedRecords(tx, { profileId, units: names })
  const drafts = [
    ...units.days.flatMap((day) => draftsOfDay(derivation, day)),
    ...units.compared.flatMap((day) => draftsOfComparedDay(derivation, day)),
    ...units.mondays.flatMap((monday) => draftsOfWeek(derivation, monday)),
    ...units.months.flatMap((first) => monthArchetypeDrafts(derivation, first)),
  ]
  const records = drafts.flatMap((draft) => changedRecordOf(draft, { before: stored.get(draft.id), nowAt }) ?? [])
  const derived = new Set(drafts.map(({ id }) => id))
  const gone = [...stored.keys()].filter((id) => !derived.has(id))
  await storeDerivedRecords(tx, { profileId, nowAt, records })
  await deleteDerivedRecords(tx, profileId, gone)
}

function changedRecordOf(
  draft: Draft,
  { before, nowAt }: { before: StoredDerivedRecord | undefined; nowAt: Date },
): DerivedRecordRow | null {
  const content = createHash('md5')
    .update(JSON.stringify([draft.body, draft.startMs, draft.endMs]))
    .digest('base64')
  if (before?.content === content) return null
  const version = (before?.version ?? 0) + 1
  const createdAtIso = before?.createdAtIso ?? nowAt.toISOString()
  const { body: _, ...rest } = draft
  const body = JSON.stringify(servedBody(draft, { createdAt: createdAtIso, version }))
  return { ...rest, version, createdAtIso, content, body }
}
