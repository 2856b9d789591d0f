import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageProblem } from '../../../base/errors.ts'
import { DAY } from '../../../base/time/units.ts'
import { exportWriters } from '../../../service/sandbox/exports/export-writers.ts'
import { logsOf, samplePeople } from '../../../service/sandbox/people/sample-people.ts'
import { offsetMinutesAt } from '../../../service/sandbox/people/zone-offsets.ts'
import type { CommandContext } from '../../terminal/command-context.ts'

/** Which days of made-up people are written, and the folder for them. */
export type PeopleFilesOptions = {
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

export const PEOPLE_IN_FILES_MAX = 1000
export const DAYS_MAX = 1000

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
