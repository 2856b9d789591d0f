import { foldedName } from './misfits.ts'
import type { SourceRecord } from './reading.ts'
import type { Fields } from './stream.ts'

/** How often a field was there, of the records that were picked. `seenAtMs`: when the newest answer that had it was asked for; 0: none had it. */
export type FieldCount = {
  readonly name: string
  readonly records: number
  readonly present: number
  readonly seenAtMs: number
}

/** A field that is counted. `isUsual`: nearly every record has it. */
export type KnownCount = { readonly name: string; readonly isUsual: boolean }

/** One record of this many is picked, and at least one of each answer: another one each time. */
const EVERY = 32
/** Further fields are not counted. */
const FIELDS_MAX = 100

/**
 * Counts how often the records of a stream have the fields that they may lack, and finds the usual fields that no record of an answer has.
 * A null is no value. A field that the records must have is left to the examiner, and a name that may be data is not counted.
 */
export class FieldTally {
  private readonly required: ReadonlySet<string>
  /** `before`: records of earlier counts, which could not be written. */
  private readonly counts = new Map<string, { present: number; seenAtMs: number; answer: number; before: number }>()
  private usual: readonly string[] = []
  private picked = 0
  private answers = 0

  constructor(required: readonly string[]) {
    this.required = new Set(required)
  }

  /** Returns the usual fields that none of the records has. All records are looked at only when the picked ones lack such a field. */
  addAnswer(records: readonly SourceRecord[], sentAtMs: number): readonly string[] {
    if (records.length === 0) return []
    this.answers += 1
    for (let index = this.answers % Math.min(EVERY, records.length); index < records.length; index += EVERY) {
      this.picked += 1
      this.addRecord(records[index]?.fields ?? {}, sentAtMs)
    }
    return this.usual.filter((name) => {
      const count = this.countOf(name)
      if (count.answer === this.answers) return false
      if (!records.some(({ fields }) => hasField(fields, name))) return true
      count.seenAtMs = Math.max(count.seenAtMs, sentAtMs)
      return false
    })
  }

  /** Returns the counts since the last call. Answers that all lack a usual field do not make it less usual. */
  take(): readonly FieldCount[] {
    const { picked, counts, usual } = this
    const taken = [...counts].flatMap(([name, { present, seenAtMs, before }]) => {
      const records = picked + before
      return records > 0 && (seenAtMs > 0 || !usual.includes(name)) ? { name, records, present, seenAtMs } : []
    })
    for (const count of counts.values()) Object.assign(count, { present: 0, seenAtMs: 0, before: 0 })
    this.picked = 0
    return taken
  }

  /** Takes counts back that could not be written: the next `take` returns them too. */
  putBack(counts: readonly FieldCount[]): void {
    for (const { name, records, present, seenAtMs } of counts) {
      const count = this.countOf(name)
      count.before += records
      count.present += present
      count.seenAtMs = Math.max(count.seenAtMs, seenAtMs)
    }
  }

  /** Learns what all processes have counted. */
  learn(known: readonly KnownCount[]): void {
    for (const { name } of known) this.countOf(name)
    this.usual = known.flatMap(({ name, isUsual }) => (isUsual ? name : []))
  }

  private addRecord(fields: Fields, sentAtMs: number): void {
    for (const name in fields) {
      if (this.required.has(name) || !hasField(fields, name)) continue
      const known = this.counts.get(name)
      if (known === undefined && (this.counts.size >= FIELDS_MAX || foldedName(name) !== name)) continue
      const count = known ?? this.countOf(name)
      count.present += 1
      count.answer = this.answers
      count.seenAtMs = Math.max(count.seenAtMs, sentAtMs)
    }
  }

  private countOf(name: string) {
    const count = this.counts.get(name) ?? { present: 0, seenAtMs: 0, answer: 0, before: 0 }
    this.counts.set(name, count)
    return count
  }
}

const hasField = (fields: Fields, name: string) => fields[name] !== undefined && fields[name] !== null
