import { fileURLToPath } from 'node:url'
import { measureRoom } from './measure-room.ts'
import { withEngines } from './part.ts'
import { rooms } from './rooms.ts'
import { describeUnexplained, scoreTable } from './tables.ts'

/*
 * `npm run mutants -- ROOM [FILE …]`: the mutants of one room, or of some of its files, that no test notices. Results that still hold
 * are reused from run to run.
 */
const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
const [name, ...only] = process.argv.slice(2)
const room = rooms.find((row) => row.name === name)
const print = (line: string) => void process.stdout.write(`${line}\n`)

if (!room) {
  print(`Which room? npm run mutants -- ${rooms.map((row) => row.name).join('|')} [FILE …]`)
  process.exit(2)
}
const result = await withEngines([{ room }], (environment) =>
  measureRoom(room, {
    root,
    stateFolder: `${root}/.vitest/mutants-by-hand`,
    environment,
    worlds: 200,
    print,
    ...(only.length > 0 ? { only } : {}),
  }),
)
for (const mutant of result.unexplained) print(describeUnexplained(mutant))
for (const { file, from } of result.outdated) print(`${file}: the list of survivors names lines that are gone: ${from}`)
const { columns, rows } = scoreTable(result)
for (const row of [columns, ...rows]) print(row.join('\t'))
process.exitCode = result.unexplained.length > 0 ? 1 : 0
