import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Packs the program, installs the tarball into an empty project, type-checks a sample against it and runs it: the client
 * against the sandbox, and the command line.   npm run package
 */
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const world = await mkdtemp(join(tmpdir(), 'vitalsync-package-'))
await chmod(world, 0o755) // as root, Postgres runs as nobody and must be able to enter
/** A registry that cannot be reached fails the check, instead of holding it up. */
const COMMAND_MAX_MS = 5 * 60_000
const run = (file: string, words: string[], cwd: string): string =>
  execFileSync(file, words, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: plainEnvironment(),
    timeout: COMMAND_MAX_MS,
  })

/** The environment of a user's shell: without the variables that npm sets for its scripts. How the registry is reached stays as it is. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const toldByNpm = /^npm_(?!config_(registry|cache|cafile|proxy|https_proxy)$)|^NODE_(?!EXTRA_CA_CERTS$)|^INIT_CWD$/
  const ours = Object.entries(process.env).filter(([name]) => !toldByNpm.test(name))
  return { ...Object.fromEntries(ours), npm_config_update_notifier: 'false', npm_config_loglevel: 'error' }
}

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

try {
  const packed = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', world], root))
  const [{ filename, size, files }] = Array.isArray(packed) ? packed : Object.values(packed)
  const stray = files
    .map(({ path }: { path: string }) => path)
    .filter((path: string) => /^(test|\.env|\.ci)|fixtures|\.test\./.test(path))
  if (stray.length > 0) throw new Error(`the tarball holds ${stray.join(', ')}`)
  console.log(`${filename}: ${files.length} files, ${Math.round(size / 1024)} KB`)
  const project = join(world, 'project')
  run('mkdir', [project], world)
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'sample', private: true, type: 'module' }))
  run('npm', ['install', '--no-audit', '--no-fund', join(world, filename)], project)
  await writeFile(join(project, 'sample.ts'), sample)
  const compiler = join(root, 'node_modules/typescript-compiler/bin/tsc')
  const flags = [
    '--strict',
    '--target',
    'es2024',
    '--module',
    'nodenext',
    '--exactOptionalPropertyTypes',
    '--types',
    'node',
  ]
  run('npm', ['install', '--no-audit', '--no-fund', '--save-dev', '@types/node@24.19.2'], project)
  run(process.execPath, [compiler, ...flags, 'sample.ts'], project)
  const said = run(process.execPath, ['sample.js'], project)
  if (!/^read moods: there is no such kind\nRetryLater\n\w+ read\n$/.test(said))
    throw new Error(`the sample said: ${said}`)
  // The Node of the machine may be older than the one that runs everything else.
  const plainPath = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'))
  const importing = `import('vitalsync/client').then(({ openClient }) => console.log(process.version, typeof openClient))
    .then(() => import('vitalsync/sandbox')).then(({ startSandboxForTests }) => startSandboxForTests({ people: 0 }))
    .then((sandbox) => sandbox.stop().then(() => console.log('starts')), ({ message }) => console.log(message))`
  const plainNode = ['-c', `PATH='${plainPath.join(':')}' exec node -e "$1"`, 'sh', importing]
  const imported = run('sh', plainNode, project).trim()
  if (!/^v[\d.]+ function\n(starts|start sandbox: it needs Node 24, and this is Node [\d.]+)$/.test(imported))
    throw new Error(`the imports said: ${imported}`)
  console.log(`client and sandbox, imported: ${imported.replace('\n', '; ')}`)
  const version = run('npx', ['vitalsync', '--version'], project).trim()
  const doctor = run('npx', ['vitalsync', 'doctor'], project)
  if (!doctor.includes(project)) throw new Error('an installed program keeps its data where one stands')
  const up = run('npx', ['vitalsync', 'up', '--once', '--profiles', '1'], project)
  if (!/Synced 1 profile/.test(up)) throw new Error(`up said: ${up}`)
  const left = await readdir(project)
  console.log(`vitalsync ${version} works when installed; beside it lie ${left.join(', ')}`)
} finally {
  await rm(world, { recursive: true, force: true })
}
