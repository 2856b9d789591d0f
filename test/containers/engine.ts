import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
export const root = fileURLToPath(new URL('../../', import.meta.url))
const outputMax = { maxBuffer: 64 * 1024 * 1024 }

export type Engine = {
  /** The output of a `docker` command. */
  docker(...words: string[]): Promise<string>
  /** The environment in which `docker`, compose and testcontainers find the engine. */
  readonly env: NodeJS.ProcessEnv
  readonly version: string
  close(): Promise<void>
}

/** Why no engine can be had here, in one line. */
export class NoEngine extends Error {}

const START_MAX_MS = 60_000

/** Takes the engine that answers, else starts an engine in a temporary folder. */
export async function openEngine(): Promise<Engine> {
  const versionOf = async (env: NodeJS.ProcessEnv) =>
    (await run('docker', ['version', '--format', '{{.Server.Version}}'], { env })).stdout.trim()
  const dockerOf =
    (env: NodeJS.ProcessEnv) =>
    async (...words: string[]) =>
      (await run('docker', words, { cwd: root, env, ...outputMax })).stdout
  const there = { ...process.env, DOCKER_BUILDKIT: '0', TESTCONTAINERS_RYUK_DISABLED: 'true' }
  const answering = await versionOf(there).catch(() => undefined)
  if (answering) return { docker: dockerOf(there), env: there, version: answering, close: async () => undefined }
  if (process.getuid?.() !== 0) throw new NoEngine('no engine answers, and only root can start one')
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-engine-'))
  const socket = `unix://${join(folder, 'docker.sock')}`
  const places = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '-p', join(folder, 'pid')]
  const daemon = spawn('dockerd', [...places, '-H', socket], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  daemon.stderr.on('data', (text) => {
    log = `${log}${text}`.slice(-20_000)
  })
  const ended = Promise.race([once(daemon, 'exit'), once(daemon, 'error')]).catch((error: Error) => [error.message])
  const env = { ...there, DOCKER_HOST: socket }
  const close = async () => {
    daemon.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 })
  }
  const untilMs = Date.now() + START_MAX_MS
  for (;;) {
    const version = await versionOf(env).catch(() => undefined)
    if (version) return { docker: dockerOf(env), env, version, close }
    const failed = await Promise.race([ended, delay(300)])
    if (failed === undefined && Date.now() < untilMs) continue
    await close()
    throw new NoEngine(`dockerd does not start here: ${log.trim().split('\n').at(-1) || failed}`)
  }
}

const perlParts = 'perl-modules-5.36 libperl5.36 libfile-find-rule-perl libnumber-compare-perl libtext-glob-perl'

/** As debian:bookworm-slim is: nothing but what apt needs, without documents and translations. */
const slim = [
  '--variant=apt',
  '--dpkgopt=force-unsafe-io', // as in that image: a file that a crash cuts short is no loss here
  '--include=usr-is-merged',
  ...['doc', 'man', 'info', 'locale'].map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`),
  `--customize-hook=chroot "$1" apt-get purge -qq -y usrmerge perl ${perlParts}`,
  '--customize-hook=rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*.bin',
]

/** Builds an image of the folder, unless the engine has an image of its first name. */
async function buildStandIn({ docker }: Engine, file: string, folder: string, ...tags: string[]): Promise<void> {
  if (await hasImage(docker, tags[0] ?? '')) return
  const words = tags.flatMap((tag) => ['--tag', tag])
  await docker('build', '--file', join(folder, `${file}.Dockerfile`), ...words, folder)
}

const hasImage = (docker: Engine['docker'], name: string) =>
  docker('image', 'inspect', name).then(
    () => true,
    () => false,
  )

const standIns = join(root, 'test/containers/stand-ins')

/** The base images of config/Dockerfile, which no registry gives here, made of Debian's packages under their names. */
export async function makeBaseImages(engine: Engine): Promise<void> {
  const { docker } = engine
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-stand-ins-'))
  try {
    if (!(await hasImage(docker, 'debian:bookworm-slim'))) {
      const base = join(folder, 'base.tar')
      await run('mmdebstrap', [...slim, 'bookworm', base], outputMax)
      await docker('import', base, 'debian:bookworm-slim')
      await rm(base)
    }
    const npm = dirname(
      dirname(execFileSync('sh', ['-c', 'readlink -f "$(command -v npm)"'], { encoding: 'utf8' }).trim()),
    )
    await cp(npm, join(folder, 'npm'), { recursive: true })
    await copyFile(process.execPath, join(folder, 'node'))
    await copyFile('/etc/ssl/certs/ca-certificates.crt', join(folder, 'certificates.pem'))
    await copyFile(join(standIns, 'node.Dockerfile'), join(folder, 'node.Dockerfile'))
    await buildStandIn(engine, 'node', folder, 'node:24-bookworm-slim')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The images of the engines of docker-compose.yml and of the tests, likewise. */
export async function makeEngineImages(engine: Engine): Promise<void> {
  await Promise.all([
    buildStandIn(engine, 'postgres', standIns, 'postgres:18-alpine'),
    buildStandIn(engine, 'redis', standIns, 'redis:8-alpine', 'redis:7-alpine'),
  ])
}

/** The first with `configs` that hold their content, and with `replicas: 0` as a reason not to wait. */
const COMPOSE_MIN = { major: 2, minor: 24 }

/**
 * The program of `docker compose`: that of this machine, else the package of Debian 13, kept under node_modules/.cache.
 * The docker-compose of Debian 12 is version 1, which does not know inline configs.
 */
export async function findCompose(): Promise<string[]> {
  const [major = 0, minor = 0] = await run('docker', ['compose', 'version', '--short']).then(
    ({ stdout }) => stdout.trim().replace(/^v/, '').split('.').map(Number),
    () => [],
  )
  if (major > COMPOSE_MIN.major || (major === COMPOSE_MIN.major && minor >= COMPOSE_MIN.minor))
    return ['docker', 'compose']
  const program = join(root, 'node_modules/.cache/docker-compose')
  if (!existsSync(program)) await unpackCompose(program)
  return [program]
}

const trixie = `Types: deb
URIs: http://deb.debian.org/debian
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`

/** By an apt with lists of its own, which checks Debian's signature and installs nothing. */
async function unpackCompose(program: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-compose-'))
  const places = {
    'Dir::Etc::sourcelist': join(folder, 'trixie.sources'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    'APT::Sandbox::User': 'root', // the folder is closed to others
  }
  const options = Object.entries(places).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const apt = (...words: string[]) => run('apt-get', [...options, ...words], { cwd: folder, ...outputMax })
  try {
    await Promise.all([mkdir(places['Dir::State::lists']), mkdir(places['Dir::Cache'])])
    await writeFile(places['Dir::Etc::sourcelist'], trixie)
    await apt('update')
    await apt('download', 'docker-compose')
    const [file = ''] = (await readdir(folder)).filter((name) => name.endsWith('.deb'))
    await run('dpkg-deb', ['--extract', file, 'unpacked'], { cwd: folder })
    await mkdir(dirname(program), { recursive: true })
    await cp(join(folder, 'unpacked/usr/libexec/docker/cli-plugins/docker-compose'), program)
  } catch (error) {
    throw new NoEngine(
      `docker compose is not to be had here, which takes Debian's packages: ${(error as Error).message.split('\n')[0]}`,
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export const readVersion = async (): Promise<string> =>
  JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version
