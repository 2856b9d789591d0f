import { expect, test } from 'vitest'
import { importCircles } from './import-circles.ts'
import { files, importsOf, lines, offence } from './sources.ts'

/**
 * Who may import whom. A file may import files of lower ranks and files of its own room; rooms of one rank do not import
 * one another. `test/` may import anything.
 */
const rooms: ReadonlyArray<{ name: string; rank: number; of: RegExp }> = [
  { name: 'the command line', rank: 7, of: /^src\/(app\/(commands|cli)\/|app\/cli\.ts|vitalsync\.mjs)/ },
  { name: 'dashboard', rank: 6.5, of: /^src\/dashboard\// },
  { name: 'app, operations and the doors', rank: 6, of: /^src\/(app|operations)\/|^src\/(client|sandbox)\.ts$/ },
  { name: 'jobs', rank: 5, of: /^jobs\// },
  { name: 'queue', rank: 5, of: /^src\/pipeline\/queue\// },
  { name: 'schedule', rank: 5, of: /^src\/pipeline\/schedule\// },
  { name: 'service', rank: 5, of: /^src\/service\// },
  { name: 'intake', rank: 5, of: /^src\/intake\// },
  { name: 'export', rank: 5, of: /^src\/pipeline\/export\// },
  { name: 'work', rank: 4, of: /^src\/pipeline\/work\// },
  { name: 'upstream', rank: 3, of: /^src\/pipeline\/upstream\// },
  { name: 'warehouse', rank: 3, of: /^src\/pipeline\/warehouse\// },
  { name: 'engines', rank: 3, of: /^src\/base\/engines\// },
  { name: 'config', rank: 2, of: /^config\// },
  { name: 'web', rank: 2, of: /^src\/web\// },
  { name: 'monitoring', rank: 2, of: /^src\/base\/monitoring\// },
  { name: 'postgres', rank: 2, of: /^src\/base\/postgres\// },
  { name: 'connections', rank: 1.5, of: /^src\/base\/connections\// },
  { name: 'ledger', rank: 1, of: /^src\/pipeline\/ledger\// },
  { name: 'fleet', rank: 1, of: /^src\/pipeline\/fleet\// },
  { name: 'transfer', rank: 1, of: /^src\/pipeline\/transfer\// },
  {
    name: 'contract, time, text, files, errors, log and close-stack',
    rank: 0,
    of: /^src\/base\/((contract|time|text|files)\/|(errors|log|close-stack)\.ts$)/,
  },
]
const roomOf = (file: string) => rooms.find(({ of }) => of.test(file))

const sources = files.filter((file) => /^(src|jobs|config)\/.*\.(tsx?|mjs)$/.test(file))
const imports = sources.flatMap(importsOf)

test('every source file has a room', () => {
  expect(sources.filter((file) => roomOf(file) === undefined)).toEqual([])
})

test('nobody imports from above, from a neighbour, or from the tests', () => {
  const offences = imports.filter(({ file, from }) => {
    if (from.startsWith('test/')) return true
    const [own, other] = [roomOf(file), roomOf(from)]
    if (own === undefined || other === undefined || own === other) return false
    return other.rank >= own.rank
  })
  expect(offences.map(offence)).toEqual([])
})

test('settings are handed down: only the command line and the assembly read config/env.ts, and only ranks above the engines its tables', () => {
  const offences = imports.filter(({ file, from, typeOnly }) => {
    const rank = roomOf(file)?.rank ?? 0
    if (from === 'config/env.ts') return rank < 6
    return /^config\//.test(from) && rank < 4 && rank !== 2 && !typeOnly
  })
  expect(offences.map(offence)).toEqual([])
})

test('the service and the pipeline share the contract, the pure files, the connections, the metrics and the engines, nothing else', () => {
  const offences = imports.filter(
    ({ file, from }) => file.startsWith('src/service/') && /^(src\/pipeline|jobs)\//.test(from),
  )
  expect(offences.map(offence)).toEqual([])
})

/** Libraries that reach out of the process live in one room each, so that the others can be run without them. */
const homes: Readonly<Record<string, RegExp>> = {
  bullmq: /^src\/pipeline\/queue\//,
  ioredis: /^src\/pipeline\/queue\//,
  undici: /^src\/pipeline\/upstream\//,
  // Also the queue's engine: BullMQ's Postgres backend is prepared over a plain connection (docs/decisions/postgres-queue.md).
  pg: /^src\/(base\/(postgres|engines)|pipeline\/warehouse|service\/store)\/|^src\/pipeline\/queue\/(engine|examine-redis)\.ts$/,
  'pg-cursor': /^src\/(pipeline\/warehouse|service\/store)\//,
  'prom-client': /^src\/(base\/monitoring|operations\/processes|service)\//,
  fastify: /^src\/(service|web|dashboard)\//,
  esbuild: /^src\/web\//,
  commander: /^src\/app\/cli(\/|\.ts)/,
  'node-cron': /^src\/pipeline\/schedule\//,
}

test('each library that reaches out stays in its room', () => {
  const offences = imports.filter(({ file, from, typeOnly }) => {
    const home = homes[from]
    return home !== undefined && !home.test(file) && !typeOnly
  })
  expect(offences.map(offence)).toEqual([])
})

const browserFile = /^src\/(\w+\/)+browser\//

test('pages in the browser and the server share types only, but for the pure files', () => {
  const offences = imports.filter(({ file, from, typeOnly }) => {
    if (typeOnly || !/^(src|jobs|config)\//.test(from)) return false
    return browserFile.test(file) ? !browserFile.test(from) && !pure.test(from) : browserFile.test(from)
  })
  expect(offences.map(offence)).toEqual([])
})

const pure = /^src\/(base\/(contract|time|text)|pipeline\/(ledger|fleet|transfer))\/|^src\/base\/errors\.ts$/

test('the pure rooms reach for nothing: no file, socket, process, clock or randomness of their own', () => {
  const reaching = imports.filter(
    ({ file, from }) =>
      pure.test(file) && /^node:(fs|net|http|child_process|dns|worker_threads|process|timers)/.test(from),
  )
  const looking = lines(pure).filter(({ text }) => /\bDate\.now\(|Math\.random\(/.test(text))
  expect([...reaching, ...looking].map(offence)).toEqual([])
})

test('config/env.ts alone reads the environment', () => {
  const readers = lines(/^(src|jobs|config)\/.*\.(ts|mjs)$/).filter(
    // The entry tells its threads, in the only words that they understand, where compiled code is kept.
    ({ file, text }) => file !== 'config/env.ts' && /process\.env\b(?!\.NODE_COMPILE_CACHE \?\?=)/.test(text),
  )
  expect(readers.map(offence)).toEqual([])
})

test('relative imports name the file, and no folder has an index', () => {
  const vague = imports.filter(
    ({ from }) => /^(src|jobs|config|test)\//.test(from) && !/\.(tsx?|mjs|json|css)$/.test(from),
  )
  expect(vague.map(offence)).toEqual([])
  expect(files.filter((file) => /(^|\/)index\.(ts|js|mjs)$/.test(file))).toEqual([])
})

/** The folders of the derivation, lowest first. A file may import files of its own folder and of lower ones. */
const derivation: readonly RegExp[] = [
  /^src\/base\/time\//,
  /^src\/service\/derive\/model\//,
  /^src\/service\/derive\/day\//,
  /^src\/service\/derive\/days\//,
  /^src\/service\/derive\/records\//,
  /^src\/service\/recompute\//,
]
const rankInDerivation = (file: string) => derivation.findIndex((folder) => folder.test(file))

test('the derivation imports downwards: recompute, records, days, day, model, time', () => {
  const offences = imports.filter(
    ({ file, from }) => rankInDerivation(file) >= 0 && rankInDerivation(from) > rankInDerivation(file),
  )
  expect(offences.map(offence)).toEqual([])
})

test('the derivation imports nothing else of the service, and every file of it has a folder', () => {
  const derive = /^src\/service\/derive\//
  const offences = imports.filter(
    ({ file, from }) => derive.test(file) && from.startsWith('src/service/') && !derive.test(from),
  )
  expect(offences.map(offence)).toEqual([])
  expect(sources.filter((file) => derive.test(file) && rankInDerivation(file) < 0)).toEqual([])
})

test('no file imports itself through others, not even for a type', () => {
  expect(importCircles(imports)).toEqual([])
})

test('the test for circles finds one of two files and one of three, and no other', () => {
  const graph = ['a b', 'b a', 'c d', 'd e', 'e c', 'e a', 'f a', 'f c'].map((line) => {
    const [file = '', from = ''] = line.split(' ')
    return { file, from }
  })

  expect(importCircles(graph)).toEqual(['a, b', 'c, d, e'])
})

/** Loading takes most of the time of a command that answers one question. */
test('a command that asks the warehouse only loads no service, no queue and no upstream', () => {
  const loadedBy = (entry: string): string[] => {
    const loaded = new Set([entry])
    for (const file of loaded)
      for (const { from, typeOnly, text } of imports.filter((one) => one.file === file))
        if (!typeOnly && !text.includes('import(')) loaded.add(from)
    return [...loaded]
  }
  const questions = ['explain-settle', 'export', 'gaps', 'plan', 'sql', 'why'].map((name) => `questions/${name}`)
  const commands = ['migrate', 'quarantine', 'runs', ...questions]
  const heavy = /^src\/(service|pipeline\/(queue|upstream))\/|^(fastify|bullmq|undici)$/
  expect(commands.filter((command) => !sources.includes(`src/app/commands/${command}.ts`))).toEqual([])
  for (const command of commands)
    expect(
      loadedBy(`src/app/commands/${command}.ts`).filter((from) => heavy.test(from)),
      command,
    ).toEqual([])
})
