import type { ModelReading } from './model-reading.ts'
import type { ModelChanges } from './model-records.ts'
import type { LedgerRow, ModelProfile } from './model-state.ts'
import type { Situations } from './situations.ts'

type Seen = {
  readonly here: ModelProfile
  /** As it was before the reading. */
  readonly row: LedgerRow
  readonly reading: ModelReading
  readonly changes: ModelChanges
  /** How many records would be gone if the reading alone were believed. */
  readonly suspicious: number
}

/** Counts the situations that an admitted reading is. */
export function seeReading({ here, row, reading, changes, suspicious }: Seen, saw: Situations['saw']): void {
  const { sentAtMs, word, unchanged, newer, believed, invalid, generation } = reading
  if (newer.length > 0) saw('a reading that arrives after a newer one of its window')
  if (row.recent.some((read) => read.sentAtMs === sentAtMs)) saw('two readings sent at one instant')
  if (word === 'pending') saw('a reading that upstream calls pending')
  if (word === 'finished') saw('a reading that upstream calls finished')
  if (generation < row.generation) saw('a reading planned before a push that touched it')
  if (unchanged) saw('an unchanged reading')
  if (!believed) saw('a reading that is not believed')
  if (believed && suspicious > 0) saw('a suspicious reading that a second one confirms')
  if (invalid.length > 0) saw('a reading with an invalid record')
  if (changes.vanished.length > 0) saw('a record that is gone')
  for (const one of changes.changed) {
    const former = here.records.get(one.id)
    if (former && former.goneMs !== null) saw('a record that comes back')
    if (former && (former.endMs ?? 0) < (one.endMs ?? 0)) saw('a record that is longer than before')
  }
}
