import { expect, test } from 'vitest'
import { files, importsOf, lines, offence } from './sources.ts'

/**
 * Who may import whom. A file may import what stands below it and what stands in its own room; rooms of one rank are
 * blind to one another. `test/` may import anything.
 */
const rooms: ReadonlyArray<{ name: string; rank: number; of: RegExp }> = [
  { name: 'the command line', rank: 5, of: /^src\/(commands\/|cli\/|cli\.ts|vitalsync\.mjs|schedule\/)/ },
  { name: 'jobs', rank: 4, of: /^jobs\// },
  { name: 'queue', rank: 4, of: /^src\/queue\// },
  { name: 'service', rank: 4, of: /^src\/service\// },
  { name: 'intake', rank: 4, of: /^src\/intake\// },
  { name: 'export', rank: 4, of: /^src\/export\// },
  { name: 'what a job is made of', rank: 3, of: /^src\/(job|pull|push|producer)\.ts$/ },
  { name: 'upstream', rank: 2, of: /^src\/upstream\// },
  { name: 'warehouse', rank: 2, of: /^src\/warehouse\// },
  { name: 'engines', rank: 2, of: /^src\/engines\// },
  { name: 'config', rank: 1, of: /^config\// },
  { name: 'the pure centre', rank: 0, of: /^src\/(contract\/.*|[a-z-]+)\.ts$/ },
]
const roomOf = (file: string) => rooms.find(({ of }) => of.test(file))

const sources = files.filter((file) => /^(src|jobs|config)\/.*\.(ts|mjs)$/.test(file))
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

test('settings are handed down: only the command line reads config/env.ts, and only ranks above the engines its tables', () => {
  const offences = imports.filter(({ file, from, typeOnly }) => {
    const rank = roomOf(file)?.rank ?? 0
    if (from === 'config/env.ts') return rank < 5
    return /^config\//.test(from) && rank < 3 && rank !== 1 && !typeOnly
  })
  expect(offences.map(offence)).toEqual([])
})

test('the service and the pipeline share the contract, the pure files and the engines, nothing else', () => {
  const offences = imports.filter(
    ({ file, from }) =>
      file.startsWith('src/service/') && /^(src\/(warehouse|upstream|queue|schedule)|jobs)\//.test(from),
  )
  expect(offences.map(offence)).toEqual([])
})

/** Libraries that reach out of the process live in one room each, so that the others can be run without them. */
const homes: Readonly<Record<string, RegExp>> = {
  bullmq: /^src\/queue\//,
  ioredis: /^src\/queue\//,
  undici: /^src\/upstream\//,
  // Also the queue's engine: BullMQ's Postgres backend is prepared over a plain connection (docs/decisions/postgres-queue.md).
  pg: /^src\/(warehouse|engines|service\/store)\/|^src\/queue\/(engine|examine)\.ts$/,
  'pg-cursor': /^src\/(warehouse|service\/store)\//,
  fastify: /^src\/service\//,
  commander: /^src\/cli(\/|\.ts)/,
  'node-cron': /^src\/schedule\//,
}

test('each library that reaches out stays in its room', () => {
  const offences = imports.filter(({ file, from, typeOnly }) => {
    const home = homes[from]
    return home !== undefined && !home.test(file) && !typeOnly
  })
  expect(offences.map(offence)).toEqual([])
})

test('the pure centre reaches for nothing: no file, socket, process, clock or chance of its own', () => {
  const pure = /^src\/(contract\/.*|[a-z-]+)\.ts$/
  const rank3 = /^src\/(cli|job|pull|push|producer|log)\.ts$/
  const own = imports.filter(({ file }) => pure.test(file) && !rank3.test(file))
  const reaching = own.filter(({ from }) =>
    /^node:(fs|net|http|child_process|dns|worker_threads|process|timers)/.test(from),
  )
  const looking = lines(pure).filter(({ file, text }) => !rank3.test(file) && /\bDate\.now\(|Math\.random\(/.test(text))
  expect([...reaching, ...looking].map(offence)).toEqual([])
})

test('config/env.ts alone reads the environment', () => {
  const readers = lines(/^(src|jobs|config)\/.*\.(ts|mjs)$/).filter(
    ({ file, text }) => file !== 'config/env.ts' && /process\.env\b/.test(text),
  )
  expect(readers.map(offence)).toEqual([])
})

test('relative imports name the file, and no folder has an index', () => {
  const vague = imports.filter(({ from }) => /^(src|jobs|config|test)\//.test(from) && !/\.(ts|mjs|json)$/.test(from))
  expect(vague.map(offence)).toEqual([])
  expect(files.filter((file) => /(^|\/)index\.(ts|js|mjs)$/.test(file))).toEqual([])
})
