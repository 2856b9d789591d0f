import type { Person, Trace } from './log.ts'
import type { Better } from './rank.ts'
import type { Shelf } from './shelf.ts'

/** Everything one day is made from. */
export type DaySource = {
  readonly shelf: Shelf
  readonly day: number
  readonly better: Better
  readonly sourcePriority: readonly string[]
  readonly person: Person
  readonly trace?: Trace | undefined
}
