import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageProblem } from '../../../base/errors.ts'
import { dayText } from '../../../base/time/local-time.ts'
import { DAY } from '../../../base/time/units.ts'
import { exportWriters } from '../../../service/sandbox/exports/export-writers.ts'
import type { FaultRule } from '../../../service/sandbox/faults/fault-rules.ts'
import { type PlannedPerson, plannedPerson } from '../../../service/sandbox/people/planned-people.ts'
import { logsOf, samplePeople } from '../../../service/sandbox/people/sample-people.ts'
import { offsetMinutesAt } from '../../../service/sandbox/people/zone-offsets.ts'
import type { CommandContext } from '../../terminal/command-context.ts'

/** Which days of made-up people are written, and the folder for them. */
type PeopleFilesOptions = {
  readonly days: number
  readonly seed: string
  readonly until?: Date
  readonly output: string
}

type SandboxPeopleOptions = PeopleFilesOptions & {
  readonly as: string
  /** From 1. */
  readonly person: number
}

const PEOPLE_IN_FILES_MAX = 1000
const DAYS_MAX = 1000

/** Writes a file as a health app exports it, of a person of the sandbox: for tests and demos, without anybody's data. */
export async function runSandboxPeople(
  { terminal }: Pick<CommandContext, 'terminal'>,
  { as, person: number, days, seed, until, output }: SandboxPeopleOptions,
): Promise<void> {
  const person = number <= PEOPLE_IN_FILES_MAX ? samplePeople(seed, number).at(-1) : undefined
  const write = exportWriters[as]
  if (!person || !write || days > DAYS_MAX)
    throw new UsageProblem('write people: there is no such person, or they have no so many days', {
      hint: `--person is at most ${PEOPLE_IN_FILES_MAX}, --days at most ${DAYS_MAX}.`,
    })
  const endMs = until?.getTime() ?? Date.now()
  const logs = logsOf(person, { startMs: endMs - days * DAY, endMs })
  const { name, data } = await write(logs, offsetMinutesAt(person.homeZone, endMs))
  const file = join(output, name)
  await mkdir(output, { recursive: true })
  await writeFile(file, data, { mode: 0o600 })
  const { homeZone: timeZone } = person
  if (terminal.json) terminal.printJson('sandbox people', { file, timeZone, days, format: as })
  else terminal.print(`${file}: ${days} days of a made-up person in ${timeZone}, as ${as}`)
}

/** Logs handed in after the last day; the lines carry no time, and count as handed in when they are imported. */
const LATE_FILES = 'late'
const TRUTH_FILE = 'truth.csv'
/** The body of `PUT /__control/faults`, so that a sandbox fails to derive as planned. */
const FAULTS_FILE = 'faults.json'
const OTHER_ROAD_FILE = 'other-road.ndjson'
const truthColumns =
  'external_id,plan,local_date,logs,handed_in_at,derived,cause_if_empty_when_settled,cause_if_empty_in_the_end'

/** Writes what the phones of people with planned causes hand in, a file for each morning, and the truth in a file apart. */
export async function runSandboxPlanned(
  { terminal }: Pick<CommandContext, 'terminal'>,
  { people, days, seed, until, output }: PeopleFilesOptions & { readonly people: number },
): Promise<void> {
  if (people > PEOPLE_IN_FILES_MAX || days > DAYS_MAX)
    throw new UsageProblem(`write planned people: ${people} people with ${days} days are too many`, {
      hint: `--people is at most ${PEOPLE_IN_FILES_MAX}, --days at most ${DAYS_MAX}.`,
    })
  const untilMs = until?.getTime() ?? Date.now()
  const firstDay = Math.floor(untilMs / DAY) - days
  const counts = { people, days, logs: 0 }
  const faults: FaultRule[] = []
  await makeEmptyFolder(output)
  await writeFile(join(output, TRUTH_FILE), `${truthColumns}\n`, { mode: 0o600 })
  for (let number = 0; number < people; number += 1) {
    const person = plannedPerson(seed, number, { firstDay, days })
    counts.logs += await writePerson(person, { folder: output, untilMs })
    faults.push(...faultsOf(person))
  }
  await writeFile(join(output, FAULTS_FILE), `${JSON.stringify(faults)}\n`, { mode: 0o600 })
  if (terminal.json) terminal.printJson('sandbox planned', { folder: output, ...counts })
  else
    terminal.print(`${output}: ${counts.logs} logs of ${people} planned people, ${days} days; ${TRUTH_FILE} says why`)
}

function faultsOf({ externalId, days }: PlannedPerson): FaultRule[] {
  const failing = days.flatMap(({ day, isDerived }) => (isDerived ? [] : [dayText(day)]))
  return failing.length === 0 ? [] : [{ name: 'failed-derivation', rate: 1, profiles: [externalId], days: failing }]
}

/** Files are appended to: what an earlier call wrote would be joined with what this one writes. */
async function makeEmptyFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  if ((await readdir(folder)).length > 0)
    throw new UsageProblem(`write planned people: the folder ${folder} is not empty`, {
      hint: 'Choose a new folder with --output.',
    })
}

/** Appends a person's logs and truth, and returns the number of logs. */
async function writePerson(
  { externalId, plan, days }: PlannedPerson,
  { folder, untilMs }: { readonly folder: string; readonly untilMs: number },
): Promise<number> {
  const files = Map.groupBy(days, ({ handedInAtMs }) =>
    handedInAtMs === undefined
      ? OTHER_ROAD_FILE
      : `${handedInAtMs > untilMs ? LATE_FILES : 'logs'}-${dayText(Math.floor(handedInAtMs / DAY))}.ndjson`,
  )
  for (const [file, together] of files) {
    const lines = together.flatMap(({ logs, handedInAtMs = untilMs + 1 }) => {
      const time = handedInAtMs > untilMs ? {} : { handedInAt: new Date(handedInAtMs).toISOString() }
      return logs.map((log) => `${JSON.stringify({ externalId, ...time, ...log })}\n`)
    })
    if (lines.length > 0) await appendFile(join(folder, file), lines.join(''), { mode: 0o600 })
  }
  const truths = days.map(({ day, logs, handedInAtMs, isDerived, truth }) => {
    const handedInAt = handedInAtMs === undefined ? '' : new Date(handedInAtMs).toISOString()
    return `${[externalId, plan, dayText(day), logs.length, handedInAt, isDerived, truth.atFirst, truth.atLast].join()}\n`
  })
  await appendFile(join(folder, TRUTH_FILE), truths.join(''))
  return days.reduce((sum, { logs }) => sum + logs.length, 0)
}
