import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Runs the steps of config/Dockerfile in a clean folder, for machines without a Docker engine: COPY copies, RUN runs,
 * and what ENTRYPOINT names must answer. It stands in for a build, not for an image: base, user and isolation are not
 * tried.   node test/house/dockerfile-steps.ts
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const text = await readFile(join(root, 'config/Dockerfile'), 'utf8')
const steps = text
  .replace(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))

const world = await mkdtemp(join(tmpdir(), 'vitalsync-image-'))
let folder = world
const env: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
  npm_config_cache: join(world, 'npm-cache'),
}
let entry: string[] = []

try {
  for (const step of steps) {
    console.log(`-- ${step}`)
    await take(step)
  }
  const said = execFileSync(entry[0] ?? '', [...entry.slice(1), '--help'], { cwd: folder, env, encoding: 'utf8' })
  if (!said.startsWith('Usage: vitalsync')) throw new Error(`the entry point said: ${said}`)
  const refused = refusalOf([...entry, 'migrate'])
  if (refused !== 2) throw new Error(`without DATABASE_URL, migrate ended with ${refused}, not 2`)
  console.log('The steps of config/Dockerfile work, and their entry point answers.')
} finally {
  await rm(world, { recursive: true, force: true })
}

async function take(step: string): Promise<void> {
  const [word = '', ...rest] = step.trim().split(/\s+/)
  if (word === 'WORKDIR') {
    folder = join(world, rest[0] ?? '')
    await mkdir(folder, { recursive: true })
  } else if (word === 'ENV') {
    for (const pair of rest) env[pair.split('=')[0] ?? ''] = pair.split('=')[1] ?? ''
  } else if (word === 'COPY') {
    const to = resolve(folder, rest.at(-1) ?? '')
    for (const from of rest.slice(0, -1)) {
      const target = rest.length > 2 || rest.at(-1)?.endsWith('/') ? join(to, from) : to
      await cp(join(root, from), target, { recursive: true })
    }
  } else if (word === 'RUN') {
    execFileSync('sh', ['-ec', rest.join(' ')], { cwd: folder, env, stdio: 'inherit' })
  } else if (word === 'ENTRYPOINT') {
    entry = JSON.parse(rest.join(' '))
  } else if (!['FROM', 'USER', 'STOPSIGNAL', 'CMD'].includes(word)) {
    throw new Error(`no idea how to take the step ${word}`)
  }
}

function refusalOf([program = '', ...words]: string[]): number | undefined {
  try {
    execFileSync(program, words, { cwd: folder, env, stdio: 'pipe' })
    return 0
  } catch (error) {
    return (error as { status?: number }).status // what execFileSync throws when the program ends badly
  }
}
