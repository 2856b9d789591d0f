import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/**
 * Packs the program, installs the tarball into an empty project, type-checks a sample against it and runs it: the client
 * against the sandbox, and the command line.   npm run package
 */
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
/** A registry that cannot be reached fails the check, instead of holding it up. */
const COMMAND_MAX_MS = 10 * 60_000

/** The environment of a user's shell: without the variables that npm sets for its scripts. How the registry is reached stays as it is. */
function userEnvironment(nodeFolder?: string): NodeJS.ProcessEnv {
  const setByNpm =
    /^npm_(?!config_(registry|cache|cafile|proxy|https_proxy)$)|^NODE_(?!(EXTRA_CA_CERTS|AUTH_TOKEN)$)|^INIT_CWD$/
  const kept = Object.entries(process.env).filter(([name]) => !setByNpm.test(name))
  // The Node of the machine may be older than the one that runs everything else.
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  const path = [...(nodeFolder ? [nodeFolder] : []), ...folders].join(delimiter)
  return { ...Object.fromEntries(kept), PATH: path, npm_config_update_notifier: 'false', npm_config_loglevel: 'error' }
}

type Place = { readonly cwd?: string; readonly nodeFolder?: string | undefined }

/** The output of a command, as a user would run it; `nodeFolder` holds the `node` that comes first on their PATH. */
export const runAsUser = (file: string, words: readonly string[], { cwd = root, nodeFolder }: Place = {}): string =>
  execFileSync(file, words, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: userEnvironment(nodeFolder),
    timeout: COMMAND_MAX_MS,
    maxBuffer: 64 * 1024 * 1024,
  })

export const npmInstall = ['install', '--no-audit', '--no-fund', '--prefer-offline']

const sample = `
import { openClient, type ClientRecords } from 'vitalsync/client'
import { startSandboxForTests } from 'vitalsync/sandbox'

const sandbox = await startSandboxForTests({ people: 1, days: 8, startAt: new Date('2026-03-10T12:00:00Z') })
try {
  await sandbox.derived()
  const client = openClient(sandbox)
  const [externalId = ''] = sandbox.people()
  const range = { externalId, from: new Date('2026-03-01'), to: new Date('2026-03-11') }
  const { records, word } = await client.read('scores', range)
  const scores: readonly ClientRecords['scores'][] = records
  if (scores.length === 0 || word !== 'finished') throw new Error('no scores')
  // @ts-expect-error: there is no such kind
  await client.read('moods', range).catch((error: Error) => console.log(error.message))
  const before = sandbox.journal.count()
  sandbox.faults.set('throttle=1')
  await client.read('scores', range).catch((error: Error) => console.log(error.name))
  sandbox.faults.set()
  await sandbox.clock.advance(3_600_000)
  if (sandbox.clock.now().toISOString().slice(0, 13) !== '2026-03-10T13') throw new Error('the clock stands')
  if (sandbox.journal.count() <= before || sandbox.journal.last(1)[0]?.operation !== 'scoresOf') throw new Error('no journal')
  await client.close()
  console.log(String(scores[0]?.type), 'read')
} finally {
  await sandbox.stop()
}
`

const wanted = [
  'src/vitalsync.mjs',
  'dist/src/client.js',
  'dist/src/client.d.ts',
  'dist/src/sandbox.js',
  'dist/src/app/cli.js',
  'config/alerts.yml',
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
]
const stray = /^(test|\.)|fixtures|vitest|\.test\.|(^|\/)\.env$/

/** The path of the tarball. The output of npm is a list, or, from npm 12 on, an object by names. */
export function packInto(folder: string): string {
  const [packed] = z
    .array(z.object({ filename: z.string(), size: z.number(), files: z.array(z.object({ path: z.string() })) }))
    .parse(Object.values(JSON.parse(runAsUser('npm', ['pack', '--json', '--pack-destination', folder]))))
  const paths = packed?.files.map(({ path }) => path) ?? []
  const faults = [
    ...wanted.filter((path) => !paths.includes(path)).map((path) => `it lacks ${path}`),
    ...paths.filter((path) => stray.test(path)).map((path) => `it holds ${path}`),
  ]
  if (faults.length > 0) throw new Error(`the package: ${faults.join(', ')}`)
  console.log(`package: ${packed?.filename}, ${paths.length} files, ${Math.round((packed?.size ?? 0) / 1024)} KB`)
  return join(folder, packed?.filename ?? '')
}

const doors = `import('vitalsync/client').then(({ openClient }) => console.log(process.version, typeof openClient))
  .then(() => import('vitalsync/sandbox')).then(({ startSandboxForTests }) => startSandboxForTests({ people: 0 }))
  .then((sandbox) => sandbox.stop().then(() => console.log('starts')), ({ message }) => console.log(message))`

function checkTypes(project: string): void {
  const flags = ['--strict', '--target', 'es2024', '--module', 'nodenext', '--exactOptionalPropertyTypes']
  const compiler = join(root, 'node_modules/typescript-compiler/bin/tsc')
  runAsUser('npm', [...npmInstall, '--save-dev', '@types/node@24.19.2'], { cwd: project })
  runAsUser(process.execPath, [compiler, ...flags, '--types', 'node', 'sample.ts'], { cwd: project })
  const printed = runAsUser(process.execPath, ['sample.js'], { cwd: project })
  if (!/^read moods: there is no such kind\nRetryLater\n\w+ read\n$/.test(printed))
    throw new Error(`the sample printed: ${printed}`)
  console.log('a sample in TypeScript: type-checked, and run under Node 24')
}

/** Installs the package into an empty project, and uses client, sandbox and command under the Node of the machine, or that of `nodeFolder`. */
export async function tryPackage(
  tarball: string,
  { nodeFolder, checksTypes }: { readonly nodeFolder?: string; readonly checksTypes: boolean },
): Promise<void> {
  const project = await mkdtemp(join(tmpdir(), 'vitalsync-package-'))
  try {
    await chmod(project, 0o755) // as root, Postgres runs as nobody and must be able to enter
    await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'sample', private: true, type: 'module' }))
    const place = { cwd: project, nodeFolder }
    runAsUser('npm', [...npmInstall, tarball], place)
    const imported = runAsUser('node', ['-e', doors], place).trim()
    if (
      !/^v24[\d.]+ function\nstarts$|^v[\d.]+ function\nstart sandbox: it needs Node 24, and this is Node [\d.]+$/.test(
        imported,
      )
    )
      throw new Error(`the imports printed: ${imported}`)
    const version = runAsUser('npx', ['vitalsync', '--version'], place).trim()
    const doctor = runAsUser('npx', ['vitalsync', 'doctor'], place)
    if (!doctor.includes(project)) throw new Error('an installed program keeps its data where one stands')
    const up = runAsUser('npx', ['vitalsync', 'up', '--once', '--profiles', '1'], place)
    if (!/Synced 1 profile.*npx vitalsync up$/ms.test(up)) throw new Error(`up printed: ${up}`)
    console.log(`installed: ${imported.replace('\n', '; sandbox: ')}; vitalsync ${version} synced a sample person`)
    if (!checksTypes) return
    await writeFile(join(project, 'sample.ts'), sample)
    checkTypes(project)
  } finally {
    await rm(project, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-tarball-'))
  try {
    await tryPackage(packInto(folder), { checksTypes: true })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
