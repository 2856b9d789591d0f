import { execFile, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmdirSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Engines, startEngines } from './engines.ts'
import { median } from './measure.ts'
import type { SubjectOptions } from './subject.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'
import type { Control } from './upstream-process.ts'

const run = promisify(execFile)
const here = fileURLToPath(new URL('../..', import.meta.url))

export const hotPaths = ['pull', 'pull-postgres', 'tags', 'push'] as const
export type HotPath = (typeof hotPaths)[number]

export type HotPathTask = Pick<SubjectOptions, 'databaseUrl' | 'queueUrl' | 'upstreamUrl'> & {
  readonly path: HotPath
  readonly profiles: number
}

/** The cost of one piece of work. `us`: microseconds of processor time, of the process, Postgres and Redis. */
type HotPathCost = { readonly name: string; readonly us: number; readonly perSecond: number }

/** The process of a path says what it took, or asks for what only this process can do. Each message is answered. */
export type HotPathMessage = { readonly settle: true } | { readonly set: Control } | { readonly cost: HotPathCost }

type AgainstOptions = {
  readonly ref: string
  readonly paths: readonly string[]
  readonly quick: boolean
  readonly say: (line: string) => void
}

/**
 * The hot paths of this tree beside those of another commit, in alternating rounds: the ratios of the rounds, here by there, and an
 * interval of them. Processor time is what other work on the machine moves least; records a second need a quiet machine. Both trees
 * are measured by the bench of this one, so the other commit must have the folders that it imports.
 */
export async function runAgainst({ ref, paths, quick, say }: AgainstOptions): Promise<void> {
  const chosen = paths.length === 0 ? hotPaths : hotPaths.filter((path) => paths.includes(path))
  const there = await checkOut(ref, say)
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  try {
    const costs = new Map<string, Pair[]>()
    for (let round = 0; round < (quick ? 6 : 9); round += 1) {
      for (const path of chosen) {
        const task = { path, profiles: path === 'push' ? 400 : quick ? 300 : 1000, engines, upstream }
        const order = round % 2 === 0 ? [here, there] : [there, here]
        const measured = new Map<string, HotPathCost[]>()
        for (const tree of order) measured.set(tree, await measureIn(tree, task))
        for (const cost of measured.get(here) ?? []) {
          const other = measured.get(there)?.find(({ name }) => name === cost.name)
          if (other) costs.set(cost.name, [...(costs.get(cost.name) ?? []), { here: cost, there: other }])
        }
      }
      say(`  round ${round + 1}`)
      for (const [name, pairs] of costs) say(`    ${lineOf(name, pairs)}`)
    }
  } finally {
    await upstream.close()
    await engines.close()
  }
}

/** The other commit in a folder of its own, with the bench of this one. */
async function checkOut(ref: string, say: AgainstOptions['say']): Promise<string> {
  const folder = join(await mkdtemp(join(tmpdir(), 'vitalsync-against-')), 'tree')
  await run('git', ['worktree', 'add', '--detach', folder, ref], { cwd: here })
  process.once('exit', () => {
    execFileSync('git', ['worktree', 'remove', '--force', folder], { cwd: here })
    rmdirSync(dirname(folder))
  })
  for (const part of ['test/bench', 'test/support']) {
    await rm(join(folder, part), { recursive: true, force: true })
    await cp(join(here, part), join(folder, part), { recursive: true })
  }
  const lockOf = (tree: string) => readFile(join(tree, 'package-lock.json'), 'utf8')
  if ((await lockOf(here)) === (await lockOf(folder))) {
    await symlink(join(here, 'node_modules'), join(folder, 'node_modules'))
  } else {
    say(`  ${ref} has other packages: npm ci`)
    await run('npm', ['ci'], { cwd: folder, maxBuffer: 1 << 26 })
  }
  return folder
}

type MeasuredPath = {
  readonly path: HotPath
  readonly profiles: number
  readonly engines: Engines
  readonly upstream: FastUpstream
}

async function measureIn(tree: string, { path, profiles, engines, upstream }: MeasuredPath): Promise<HotPathCost[]> {
  const databaseUrl = await engines.database()
  const { redisUrl } = engines
  const queueUrl = path === 'pull-postgres' || redisUrl === undefined ? await engines.database() : redisUrl
  const task: HotPathTask = { path, profiles, databaseUrl, queueUrl, upstreamUrl: upstream.url }
  const child = fork(join(tree, 'test/bench/hot-path-process.ts'), [JSON.stringify(task)], {
    execArgv: ['--expose-gc'],
  })
  const costs: HotPathCost[] = []
  const answer = async (message: HotPathMessage) => {
    if ('settle' in message) await engines.settle()
    else if ('set' in message) await upstream.set(message.set)
    else costs.push(message.cost)
    child.send('done')
  }
  child.on('message', (message) => void answer(message as HotPathMessage))
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`measure ${path} in ${tree}: the process ended with ${code}`)
  await engines.drop(databaseUrl)
  if (queueUrl !== redisUrl) await engines.drop(queueUrl)
  return costs
}

type Pair = { readonly here: HotPathCost; readonly there: HotPathCost }

function lineOf(name: string, pairs: readonly Pair[]): string {
  const us = pairs.map(({ here, there }) => here.us / there.us)
  const rates = pairs.map(({ here, there }) => here.perSecond / there.perSecond)
  const mean = median(pairs.map(({ here }) => here.us))
  const spreads = `processor time ${intervalOf(us)} (${mean.toPrecision(3)} µs here), a second ${intervalOf(rates)}`
  return `${name.padEnd(22)} ${spreads}`
}

/**
 * The median, and the ratios between which the true median lies in 95 of 100 cases, whatever their distribution: an interval between
 * ranks misses it when too many rounds fall on one side. Up to five rounds cannot say so much.
 */
function intervalOf(ratios: readonly number[]): string {
  const sorted = [...ratios].sort((a, b) => a - b)
  const text = (value: number | undefined) => (value ?? Number.NaN).toFixed(3)
  const rank = lowRankOf(sorted.length)
  if (rank < 0) return text(median(sorted))
  return `${text(median(sorted))} [${text(sorted[rank])} to ${text(sorted.at(-1 - rank))}]`
}

/** The highest rank, counted from 0, so that the median lies below it in at most 2.5 of 100 cases; -1 where there is none. */
function lowRankOf(rounds: number): number {
  let rank = -1
  let cases = 1 // of 2 ** rounds, in which exactly rank + 1 rounds lie below the median
  for (let below = cases; below / 2 ** rounds <= 0.025; below += cases) {
    rank += 1
    cases = (cases * (rounds - rank)) / (rank + 1)
  }
  return rank
}
