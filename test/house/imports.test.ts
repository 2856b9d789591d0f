import { expect, test } from 'vitest'
import { doorsOf } from './doors.ts'
import { folderCircles, importCircles } from './import-circles.ts'
import { files, importsOf, lines, offence } from './sources.ts'

/**
 * The allowed imports. A house imports the houses of lower floors; houses of one floor do not import one another. Within a house that
 * has rooms, a room imports rooms of lower ranks; rooms of one rank do not import one another, but for those of rank 0. `test/` may import anything.
 */
type House = { readonly name: string; readonly floor: number; readonly of: RegExp; readonly rooms?: readonly Room[] }
type Room = { readonly rank: number; readonly of: RegExp }

const houses: readonly House[] = [
  { name: 'app and the doors', floor: 6, of: /^src\/(app\/|(client|sandbox)\.ts$|vitalsync\.mjs$)/ },
  { name: 'dashboard', floor: 5, of: /^src\/dashboard\// },
  { name: 'operations', floor: 4, of: /^src\/operations\// },
  { name: 'service', floor: 3, of: /^src\/service\// },
  { name: 'intake', floor: 3, of: /^src\/intake\// },
  { name: 'jobs', floor: 3, of: /^jobs\// },
  { name: 'config', floor: 3, of: /^config\// },
  {
    name: 'pipeline',
    floor: 2,
    of: /^src\/pipeline\//,
    rooms: [
      { rank: 4, of: /^src\/pipeline\/(queue|schedule|export)\// },
      { rank: 3, of: /^src\/pipeline\/work\// },
      { rank: 2, of: /^src\/pipeline\/(upstream|warehouse)\// },
      { rank: 1, of: /^src\/pipeline\/(ledger|fleet|transfer)\// },
    ],
  },
  { name: 'web', floor: 2, of: /^src\/web\// },
  {
    name: 'base',
    floor: 1,
    of: /^src\/base\//,
    rooms: [
      { rank: 4, of: /^src\/base\/engines\// },
      { rank: 3, of: /^src\/base\/(postgres|monitoring)\// },
      { rank: 2, of: /^src\/base\/connections\// },
      {
        rank: 0,
        of: /^src\/base\/((contract|time|text|files)\/|(errors|log|close-stack|semaphore|sleep|on-abort)\.ts$)/,
      },
    ],
  },
]
const houseOf = (file: string) => houses.find(({ of }) => of.test(file))
const folderOf = (file: string) => file.split('/').slice(0, 3).join('/')

const sources = files.filter((file) => /^(src|jobs|config)\/.*\.(tsx?|mjs)$/.test(file))
const imports = sources.flatMap(importsOf)

test('every source file has a house, and a room where the house has rooms', () => {
  const homeless = sources.filter((file) => {
    const house = houseOf(file)
    return house === undefined || (house.rooms && !house.rooms.some(({ of }) => of.test(file)))
  })
  expect(homeless).toEqual([])
})

test('nobody imports from above, from a neighbour, or from the tests', () => {
  const offences = imports.filter(({ file, from }) => {
    if (from.startsWith('test/')) return true
    const [fileHouse, fromHouse] = [houseOf(file), houseOf(from)]
    if (fileHouse === undefined || fromHouse === undefined) return false
    if (fileHouse !== fromHouse) return fromHouse.floor >= fileHouse.floor
    const rankOf = (path: string) => fileHouse.rooms?.find(({ of }) => of.test(path))?.rank ?? 0
    const isNeighbour = rankOf(from) === rankOf(file) && rankOf(file) > 0 && folderOf(from) !== folderOf(file)
    return rankOf(from) > rankOf(file) || isNeighbour
  })
  expect(offences.map(offence)).toEqual([])
})

test('settings are handed down: only operations and houses above read config/env.ts', () => {
  const offences = imports.filter(({ file, from }) => from === 'config/env.ts' && (houseOf(file)?.floor ?? 0) < 4)
  expect(offences.filter(({ file }) => !file.startsWith('config/')).map(offence)).toEqual([])
})

test('the settings load no part of the pipeline but its pure rooms', () => {
  const offences = imports.filter(
    ({ file, from, typeOnly }) =>
      file.startsWith('config/') && from.startsWith('src/pipeline/') && !pure.test(from) && !typeOnly,
  )
  expect(offences.map(offence)).toEqual([])
})

test('the service stands on base and web alone', () => {
  const offences = imports.filter(
    ({ file, from }) =>
      file.startsWith('src/service/') && /^(src|jobs|config)\//.test(from) && !/^src\/(service|base|web)\//.test(from),
  )
  expect(offences.map(offence)).toEqual([])
})

test('a house is used through the files that it offers', () => {
  const used = imports.filter(({ file, from }) => houseOf(file) !== houseOf(from)).map(({ from }) => from)
  for (const [house, doors] of Object.entries(doorsOf)) {
    const opened = new Set(used.filter((from) => from.startsWith(house)).map((from) => from.slice(house.length)))
    expect([...opened].toSorted(), house).toEqual(doors.toSorted())
  }
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

const pure =
  /^src\/(base\/(contract|time|text)|pipeline\/(ledger|fleet|transfer)|service\/sandbox\/people)\/|^src\/(base\/errors|dashboard\/map-days)\.ts$/

test('the pure rooms reach for nothing: no file, socket, process, clock or randomness of their own', () => {
  const reaching = imports.filter(
    ({ file, from }) =>
      pure.test(file) && /^node:(fs|net|http|child_process|dns|worker_threads|process|timers)/.test(from),
  )
  const looking = lines(pure).filter(({ text }) => /\bDate\.now\(|Math\.random\(/.test(text))
  expect([...reaching, ...looking].map(offence)).toEqual([])
})

test('the pure rooms import no room that is not pure', () => {
  const offences = imports.filter(({ file, from }) => pure.test(file) && from.startsWith('src/') && !pure.test(from))
  expect(offences.map(offence)).toEqual([])
})

test('config/env.ts alone reads the environment', () => {
  const readers = lines(/^(src|jobs|config)\/.*\.(ts|mjs)$/).filter(
    // The entry passes its threads the folder of compiled code, in the only form that they understand.
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

test('folders that lie side by side do not import one another in a circle, with all that they hold', () => {
  expect(folderCircles(imports)).toEqual([])
})

const arrowsOf = (pairs: readonly string[]) =>
  pairs.map((pair) => {
    const [file = '', from = ''] = pair.split(' ')
    return { file, from }
  })

test('the test for circles finds one of two files and one of three, and no other', () => {
  const graph = arrowsOf(['a b', 'b a', 'c d', 'd e', 'e c', 'e a', 'f a', 'f c'])

  expect(importCircles(graph)).toEqual(['a, b', 'c, d, e'])
})

test('the test for circles of folders joins what a folder holds, and leaves a folder and its own subfolders alone', () => {
  const graph = arrowsOf([
    'src/h/a/one.ts src/h/b/in/two.ts',
    'src/h/b/three.ts src/h/a/in/four.ts',
    'src/h/c/five.ts src/h/c/in/six.ts',
    'src/h/c/in/six.ts src/h/c/five.ts',
    'src/h/c/five.ts src/h/a/one.ts',
    'src/h/c/five.ts fastify',
  ])

  expect(folderCircles(graph)).toEqual(['src/h/a, src/h/b'])
})

/** Loading takes most of the time of a command that answers one question. */
test('a command that asks the warehouse only loads no service, no queue and no upstream', () => {
  const loadedBy = (entry: string): string[] => {
    const loaded = new Set([entry])
    for (const file of loaded)
      for (const { from, typeOnly, text } of imports.filter((imported) => imported.file === file))
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
