import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

/** The sources of another version of the program, in a folder of their own. */
export type OtherVersion = { readonly folder: string; readonly entry: string; close(): Promise<void> }

const versionIn = (folder: string): OtherVersion => ({
  folder,
  entry: join(folder, 'src/vitalsync.mjs'),
  close: () => rm(folder, { recursive: true, force: true }),
})

/** The sources of this version, for a test that changes them. */
export async function copySources(): Promise<OtherVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-version-'))
  for (const part of ['src', 'jobs', 'config', 'package.json'])
    await cp(join(root, part), join(folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  return versionIn(folder)
}

/** The sources of a tag of this repository, with the packages that it was released with. */
export async function checkOut(tag: string): Promise<OtherVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-version-'))
  const tar = join(folder, 'sources.tar')
  await run('git', ['archive', `--output=${tar}`, tag], { cwd: root })
  await run('tar', ['-xf', tar, '-C', folder])
  const [theirs, ours] = await Promise.all([folder, root].map((place) => readFile(join(place, 'package-lock.json'))))
  if (ours && theirs?.equals(ours)) await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  else await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, maxBuffer: 64 * 1024 * 1024 })
  return versionIn(folder)
}

/** A form of the job that this version cannot read, a setting, and the next number. */
const changes: ReadonlyArray<readonly [file: string, from: string, to: string]> = [
  ['package.json', '"version": "', '"version": "999.'],
  ['src/pipeline/transfer/order.ts', 'JOB_FORM = 1', 'JOB_FORM = 2'],
  [
    'jobs/sync-profile.ts',
    'streams: z.array(z.string()).optional()',
    `streams: z.array(z.string()).or(z.object({ only: z.array(z.string()) }).transform(({ only }) => only)).optional()`,
  ],
  ['jobs/sync.ts', '? {} : { streams }', '? {} : { streams: { only: streams } }'],
  [
    'config/variables.ts',
    'export const variables = {',
    `export const variables = {
  NOTE_OF_NEXT_VERSION: { schema: z.string().min(1), about: 'a setting that the version before does not know', fallback: 'none' },`,
  ],
]
/** A table of profiles with rows, a column with a default, and a column without one. */
const migration = `
  create table vitalsync.notes (profile_id bigint not null, note text not null, primary key (profile_id, note));
  insert into vitalsync.notes select id, 'of the next version' from vitalsync.profiles;
  alter table vitalsync.items add column note text;
  alter table vitalsync.runs add column note text not null default 'none'`

/** A made-up next version, which changes the form of a job, which this version cannot read, the tables and the settings. */
export async function makeNextVersion(): Promise<OtherVersion> {
  const next = await copySources()
  for (const [file, from, to] of changes) {
    const text = await readFile(join(next.folder, file), 'utf8')
    if (!text.includes(from)) throw new Error(`${file} has no "${from}" for the next version to change`)
    await writeFile(join(next.folder, file), text.replace(from, to))
  }
  await writeFile(join(next.folder, 'src/pipeline/warehouse/migrations/9000-notes.sql'), migration)
  return next
}
