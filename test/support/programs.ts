import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs that tests start and npm does not bring, each with the Debian package that brings it. */
export const packageOf = {
  chromium: 'chromium-headless-shell',
  fish: 'fish',
  openssl: 'openssl',
  pg_dump: 'postgresql',
  pgbouncer: 'pgbouncer',
  promtool: 'prometheus',
  python3: 'python3',
  'redis-server': 'redis-server',
  'systemd-analyze': 'systemd',
  zsh: 'zsh',
} as const

export type Program = keyof typeof packageOf
type Skip = (note: string) => never

const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)

/** Looks at the PATH and starts nothing. */
export const pathOf = (program: string): string | undefined =>
  folders.map((folder) => join(folder, program)).find(isExecutable)

export const isInstalled = (program: Program): boolean => pathOf(program) !== undefined

/** Where the program is missing, the test is skipped; with REQUIRE_ENGINES=PROGRAM,… or =all it fails instead. */
export function needProgram(skip: Skip, program: Program): void {
  if (isInstalled(program)) return
  failIfRequired(program)
  skip(noteOf(program))
}

/** The note of a skipped test. The reporter reads the program from it, to name the command that brings it. */
export const noteOf = (program: Program): string => `no ${program}`

export function failIfRequired(program: Program): void {
  const required = process.env['REQUIRE_ENGINES']?.split(',') ?? []
  if (!required.includes(program) && !required.includes('all')) return
  throw new Error(`REQUIRE_ENGINES asks for ${program}, which is not there: apt-get install ${packageOf[program]}`)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
