import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageProblem } from '../../../base/errors.ts'
import { dayText } from '../../../base/time/local-time.ts'
import { DAY } from '../../../base/time/units.ts'
import type { FaultRule } from '../../../service/sandbox/faults/fault-rules.ts'
import { type PlannedPerson, plannedPerson } from '../../../service/sandbox/people/planned-people.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { DAYS_MAX, PEOPLE_IN_FILES_MAX, type PeopleFilesOptions } from './sandbox-people.ts'

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
