import { hotPaths, runAgainst } from './against.ts'
import { closeAllEngines } from './engines.ts'
import { type Measure, machine, type Round } from './measure.ts'

/**
 * `npm run bench` for everything, `npm run bench -- NAME …` for some, `-- --quick --json` for one JSON object within five
 * minutes. Every figure is compared with something measured in the same run on the same machine. `-- --against REF` measures the hot
 * paths of this tree beside those of another commit.
 */
const rounds: Readonly<Record<string, { about: string; quick: boolean; load: () => Promise<Round> }>> = {
  pull: { about: 'cold pull and reading again, on both engines', quick: true, load: () => import('./pull.ts') },
  'reread-tags': {
    about: 'a night in which 2 % changed, with tags and without',
    quick: true,
    load: () => import('./reread-tags.ts'),
  },
  monitoring: {
    about: 'a cold pull with metrics and traces, and with nobody looking',
    quick: true,
    load: () => import('./monitoring.ts'),
  },
  push: { about: 'a million waiting data logs', quick: true, load: () => import('./push.ts') },
  enqueue: { about: 'planning and enqueueing a million profiles', quick: true, load: () => import('./enqueue.ts') },
  latency: { about: 'an upstream that takes 50 or 250 ms', quick: true, load: () => import('./latency.ts') },
  'scale-out': { about: '1, 2 and 4 worker processes', quick: true, load: () => import('./scale-out.ts') },
  peers: { about: 'beside dlt and a Singer tap', quick: false, load: () => import('./peers.ts') },
  growth: { about: '1 to 1,000 times as many rows there', quick: false, load: () => import('./growth.ts') },
  soak: { about: 'half an hour at steady state; two minutes if quick', quick: false, load: () => import('./soak.ts') },
  service: { about: 'reads and ingest of the Profile Service', quick: true, load: () => import('./service.ts') },
  derive: { about: 'deriving and recomputing', quick: true, load: () => import('./derive.ts') },
  'derive-threads': {
    about: 'deriving stored logs with 1, 2 and 4 threads',
    quick: false,
    load: () => import('./derive-threads.ts'),
  },
  imports: {
    about: 'health exports beside the bare decoders of their files',
    quick: true,
    load: () => import('./imports.ts'),
  },
  dashboard: {
    about: 'the dashboard beside a ledger of 100,000 people',
    quick: false,
    load: () => import('./dashboard.ts'),
  },
  causes: {
    about: 'a night in which one person in twenty has an empty day, with its cause and without',
    quick: false,
    load: () => import('./causes.ts'),
  },
  'log-days': {
    about: 'importing logs with the evidence of days, beside importing them without',
    quick: false,
    load: () => import('./log-days.ts'),
  },
  silence: { about: 'judging who of 100,000 people has gone silent', quick: false, load: () => import('./silence.ts') },
  'beside-dashboard': {
    about: 'a cold pull beside an open dashboard, and with nobody looking',
    quick: false,
    load: () => import('./beside-dashboard.ts'),
  },
  client: { about: 'the client alone, beside bare undici', quick: true, load: () => import('./client.ts') },
}

const [ref, words] = takeRef(process.argv.slice(2))
const quick = words.includes('--quick')
const json = words.includes('--json')
const named = words.filter((word) => !word.startsWith('--'))
const known: readonly string[] = ref === undefined ? Object.keys(rounds) : hotPaths
const unknown = [...named.filter((name) => !known.includes(name)), ...words.filter((word) => isUnknownFlag(word))]
if (unknown.length > 0) {
  const list = known.map((name) => `  ${name.padEnd(13)} ${rounds[name]?.about ?? ''}`)
  process.stderr.write(`bench: no ${unknown.join(', ')}. There are, with --quick and --json:\n${list.join('\n')}\n`)
  process.exit(2)
}

/** The commit after `--against`, and the other words. */
function takeRef(all: readonly string[]): [string | undefined, readonly string[]] {
  const at = all.indexOf('--against')
  return at < 0 ? [undefined, all] : [all[at + 1] ?? 'HEAD', all.toSpliced(at, 2)]
}

function isUnknownFlag(word: string): boolean {
  return word.startsWith('--') && word !== '--quick' && word !== '--json'
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void closeAllEngines().finally(() => process.exit(130)))
}

const say = (line: string) => (json ? process.stderr : process.stdout).write(`${line}\n`)
say(`vitalsync bench${quick ? ', quick' : ''}\n  ${await machine()}`)
if (ref !== undefined) {
  await runAgainst({ ref, paths: named, quick, say })
  process.exit(0)
}
const measures: Measure[] = []
let failed = false
for (const [name, { about, load, quick: inQuick }] of Object.entries(rounds)) {
  if (named.length > 0 ? !named.includes(name) : quick && !inQuick) continue
  say(`\n${name}: ${about}`)
  const startedAt = performance.now()
  try {
    measures.push(...(await (await load()).run({ quick, say })))
  } catch (error) {
    failed = true
    say(`  ${name} could not be measured: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  }
  say(`  took ${Math.round((performance.now() - startedAt) / 1000)} s`)
}
if (json) process.stdout.write(`${JSON.stringify({ measures })}\n`)
else for (const measure of measures) say(lineOf(measure))
process.exit(failed ? 1 : 0)

function lineOf({ name, value, unit, ratio, against, goal, holds }: Measure): string {
  const verdict = holds === null ? '  ' : holds ? 'ok' : 'NO'
  const beside = ratio === null ? '' : `${ratio} × ${against}`
  return `${verdict} ${name.padEnd(44)} ${value.toLocaleString('en-US').padStart(12)} ${unit.padEnd(22)} ${beside} ${goal === null ? '' : `(goal ${goal})`}`
}
