import { answers } from './faults.ts'

/** The situations that the worlds of a run must have met, each by its name. One that none of them met fails the run. */
const situationNames = [
  'a reading stored by a group of several',
  'a reading stored twice',
  'a reading that arrives after a newer one of its window',
  'two readings sent at one instant',
  'a reading that is too old to be stored',
  'a reading of an erased profile',
  'a reading that upstream calls pending',
  'a reading that upstream calls finished',
  'a reading planned before a push that touched it',
  'an unchanged reading',
  'an unchanged reading about a tag that was dropped',
  'a reading that is not believed',
  'a suspicious reading that a second one confirms',
  'a reading with an invalid record',
  'a record that is gone',
  'a record that comes back',
  'a record that is longer than before',
  'a silent difference',
  'a window refused again after its backoff',
  'a log replaced while it waits',
  'a log handed in twice',
  'a log that upstream refuses',
  'a push repeated after its answer was lost',
  'a push marked by two workers',
  'a kill between the answer of a push and its mark',
  'a kill between a reading and its commit',
  'a connection cut before the commit of a reading',
  'a connection cut after the commit of a reading',
  'a connection cut before the commit of an outbox mark',
  'a connection cut after the commit of an outbox mark',
  'a connection cut within an erasure',
  'a connection cut within another transaction',
  'an erasure while a reading is under way',
  'an erasure while a push is under way',
  'an erasure that waits for a registration',
  'a registration undone because its profile was erased',
  'an erased profile handed in again',
  'the clock of the database set forward',
  'the clock of the database set back',
  'a process whose clock is set',
  'two versions of the settings at work',
  'a process in another time zone at work',
  'a backup restored',
  'an erased profile restored and erased again',
  'a run of everybody',
  'an order of one run ended by a job of another',
  'a producer that dies after it recorded a page',
  'a lease withdrawn while its producer works',
  'a run stopped while its orders are open',
  'a job that runs again after it was counted',
] as const

type SituationName = (typeof situationNames)[number] | `upstream answers ${string}`

export type Situations = { saw(name: SituationName): void; readonly counts: ReadonlyMap<SituationName, number> }

export function createSituations(): Situations {
  const counts = new Map<SituationName, number>()
  return { saw: (name) => void counts.set(name, (counts.get(name) ?? 0) + 1), counts }
}

/** Upstream's answers that the client's table names are situations too. `renew` shows only as the wait for the token. */
export const allSituations: readonly string[] = [...situationNames, ...answers.map((one) => `upstream answers ${one}`)]

/** Where upstream says that somebody is gone, it is so: such an answer is no fault of chance. */
const neverByChance = 'upstream answers 410'

export const unseenIn = (counts: ReadonlyMap<string, number>): string[] =>
  allSituations.filter((name) => !counts.has(name) && name !== neverByChance)
