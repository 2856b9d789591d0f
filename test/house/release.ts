import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { type Engine, makeBaseImages, NoEngine, openEngine } from '../containers/engine.ts'
import { npmInstall, packInto, runAsUser, tryPackage } from './installed-package.ts'

/**
 * Makes the files of a release in the folder release/, and tries them: the package, its dependencies (CycloneDX), the notes, their
 * checksums, and the image. Publishes nothing: the workflow .github/workflows/release.yml does.
 *
 *   npm run release -- --dry-run        in a folder that is removed afterwards; leaves out what this machine cannot do, and says so
 *   npm run release -- --dry-run --without-image
 *   npm run release -- --tag v0.1.0     fails where the tag is not that of the version
 *   npm run release -- --sign KEY       signs the tag of the version, with this key of GnuPG
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const { values: options } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    'without-image': { type: 'boolean', default: false },
    tag: { type: 'string' },
    sign: { type: 'string' },
  },
})
const isTrial = options['dry-run']
/** The newest of each line, of the packages that bring Node by npm. */
const nodes = ['20.20.2', '22.23.3', '24.21.0']
const ACTIONLINT = 'v1.7.12'

function demand(holds: boolean, text: string): void {
  if (!holds) throw new Error(`release: ${text}`)
}

/** A trial goes on without what this machine cannot do; a release fails. */
function leaveOut(what: string, why: unknown): void {
  const reason = (why instanceof Error ? why.message : String(why)).split('\n')[0]
  demand(isTrial, `${what}: ${reason}`)
  console.log(`${what}: left out, because ${reason}`)
}

/** The version is in package.json. Files that repeat it are compared. */
async function readRelease(): Promise<{ version: string; notes: string }> {
  const textOf = (file: string) => readFile(join(root, file), 'utf8')
  const { version } = z
    .object({ version: z.string().regex(/^\d+\.\d+\.\d+$/) })
    .parse(JSON.parse(await textOf('package.json')))
  const lock = z
    .object({ version: z.string(), packages: z.object({ '': z.object({ version: z.string() }) }) })
    .parse(JSON.parse(await textOf('package-lock.json')))
  demand(
    lock.version === version && lock.packages[''].version === version,
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
  if (!/^\[[\d.]+\] - \d{4}-\d\d-\d\d$/m.test(section))
    leaveOut('the date of the release', `CHANGELOG.md has none in its section [${version}]`)
  return { version, notes: section.slice(section.indexOf('\n') + 1).trim() }
}

/** Uses the package under each Node, which npm brings. */
async function tryUnderEachNode(tarball: string): Promise<void> {
  for (const version of nodes) {
    const home = await mkdtemp(join(tmpdir(), 'vitalsync-node-'))
    try {
      const node = `node@npm:node-${process.platform}-${process.arch}@${version}`
      try {
        runAsUser('npm', [...npmInstall, '--prefix', home, node])
      } catch (error) {
        leaveOut(`Node ${version}`, error)
        continue
      }
      const checksTypes = version === nodes.at(-1)
      await tryPackage(tarball, { nodeFolder: join(home, 'node_modules/node/bin'), checksTypes })
    } finally {
      await rm(home, { recursive: true, force: true })
    }
  }
}

const auditAnswer = z.union([
  z.object({ metadata: z.object({ vulnerabilities: z.record(z.string(), z.number()) }) }),
  z.object({ message: z.string() }),
])

/** Advisories about what the package and the image install. Those below high do not stop a release. */
function auditDependencies(): void {
  const printed = runAsUser('sh', ['-c', 'npm audit --omit=dev --json || true'])
  const answer = auditAnswer.parse(JSON.parse(printed))
  if ('message' in answer) {
    leaveOut('the audit', `the registry answers: ${answer.message}`)
    return
  }
  const { high = 0, critical = 0, total = 0 } = answer.metadata.vulnerabilities
  demand(high + critical === 0, `${high} high and ${critical} critical advisories: npm audit --omit=dev`)
  console.log(`audit: ${total} advisories, none of them high or critical`)
}

function lintWorkflow(): void {
  try {
    runAsUser('go', ['version'])
  } catch {
    leaveOut('the workflow', 'actionlint needs Go, which is not here')
    return
  }
  runAsUser('go', ['run', `github.com/rhysd/actionlint/cmd/actionlint@${ACTIONLINT}`, '.github/workflows/release.yml'])
  console.log(`workflow: actionlint ${ACTIONLINT} finds no fault`)
}

async function buildImage(version: string): Promise<void> {
  const engine = await openEngine().catch((error: Error) => {
    if (!(error instanceof NoEngine)) throw error
    leaveOut('the image', error)
  })
  if (!engine) return
  try {
    await buildImageOn(engine, version)
  } finally {
    await engine.close()
  }
}

async function buildImageOn(engine: Engine, version: string): Promise<void> {
  // An engine of this run alone has no base images yet, and where only such an engine is, no registry may give them.
  const isOurs = engine.env['DOCKER_HOST'] !== process.env['DOCKER_HOST']
  demand(isTrial || !isOurs, 'the image: no Docker engine answers')
  if (isOurs) await makeBaseImages(engine)
  const revision = runAsUser('git', ['rev-parse', 'HEAD']).trim()
  // A checkout names no repository; the workflow writes it into package.json.
  const repository = runAsUser('npm', ['pkg', 'get', 'repository.url']).match(/https:[^"]+?(?=\.git"|")/)?.[0]
  const sources = repository === undefined ? [] : ['--build-arg', `SOURCE=${repository}`]
  const labels = ['--build-arg', `VERSION=${version}`, '--build-arg', `REVISION=${revision}`, ...sources]
  const image = `vitalsync:${version}`
  await engine.docker('build', '--file', 'config/Dockerfile', '--tag', image, ...labels, '.')
  const printed = await engine.docker('run', '--rm', '--read-only', '--network', 'none', image, '--version')
  demand(printed.trim() === version, `the image says it is ${printed}`)
  const [id, size] = (await engine.docker('image', 'inspect', '--format', '{{.Id}} {{.Size}}', image)).trim().split(' ')
  const bases = isOurs ? ', on base images made of Debian' : ''
  console.log(`image: ${image}, ${id}, ${Math.round(Number(size) / 1e6)} MB${bases}`)
}

function signTag(version: string, key: string): void {
  const tag = `v${version}`
  runAsUser('git', ['tag', '--sign', '--local-user', key, '--message', `vitalsync ${version}`, tag])
  try {
    runAsUser('git', ['verify-tag', tag])
    console.log(`tag: ${tag} is signed`)
  } finally {
    if (isTrial) runAsUser('git', ['tag', '--delete', tag])
  }
}

async function writeChecksums(folder: string): Promise<void> {
  const names = (await readdir(folder)).toSorted()
  const sums = await Promise.all(
    names.map(async (name) => {
      const sum = createHash('sha256').update(await readFile(join(folder, name)))
      return `${sum.digest('hex')}  ${name}\n`
    }),
  )
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''))
  console.log(`checksums:\n${sums.join('').trim()}`)
}

const { version, notes } = await readRelease()
const folder = isTrial ? await mkdtemp(join(tmpdir(), 'vitalsync-release-')) : join(root, 'release')
try {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  const tarball = packInto(folder)
  const dependencies = ['--package-lock-only', '--omit=dev', '--omit=optional', '--sbom-format', 'cyclonedx']
  await writeFile(join(folder, `vitalsync-${version}.cdx.json`), runAsUser('npm', ['sbom', ...dependencies]))
  await writeFile(join(folder, 'NOTES.md'), `${notes}\n`)
  await writeChecksums(folder)
  auditDependencies()
  lintWorkflow()
  await tryUnderEachNode(tarball)
  if (options['without-image']) leaveOut('the image', '--without-image is given')
  else await buildImage(version)
  if (options.sign !== undefined) signTag(version, options.sign)
  else console.log('tag: not signed, because no --sign KEY is given')
  const kept = isTrial ? 'Nothing was kept' : `The files are in ${basename(folder)}/`
  console.log(`${kept}, nothing was published.`)
} finally {
  if (isTrial) await rm(folder, { recursive: true, force: true })
}
