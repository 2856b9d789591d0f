import type { ProofTable } from '../part.ts'
import type { LivingMutant } from './kept-rooms.ts'
import type { FileScore, RoomResult } from './measure-room.ts'

const columns = [
  'file',
  'killable',
  'killed',
  'timed out',
  'survived',
  'reached by no test',
  'equivalent',
  'killed, %',
  'killed by the simulation alone, %',
]

export function scoreTable({ room, when, files }: Pick<RoomResult, 'room' | 'when' | 'files'>): ProofTable {
  const rows = files.filter(({ killable, equivalent }) => killable + equivalent > 0).map(rowOf)
  const sum = rowOf(sumOf(files))
  return { title: `Mutants of ${room}${when}`, columns, rows: [...rows, sum] }
}

const rowOf = ({ file, killable, counts, equivalent, killedBySimulation }: FileScore): (string | number)[] => [
  file,
  killable,
  counts.killed,
  counts['timed out'],
  counts.survived,
  counts.unreached,
  equivalent,
  percent(counts.killed, killable),
  killedBySimulation === undefined ? '' : percent(killedBySimulation, killable),
]

const percent = (part: number, whole: number): string => (whole === 0 ? '' : ((100 * part) / whole).toFixed(1))

function sumOf(files: readonly FileScore[]): FileScore {
  const sum = (amount: (file: FileScore) => number) => files.reduce((total, file) => total + amount(file), 0)
  return {
    file: 'all',
    killable: sum(({ killable }) => killable),
    counts: {
      killed: sum(({ counts }) => counts.killed),
      'timed out': sum(({ counts }) => counts['timed out']),
      survived: sum(({ counts }) => counts.survived),
      unreached: sum(({ counts }) => counts.unreached),
    },
    equivalent: sum(({ equivalent }) => equivalent),
    killedBySimulation: undefined,
  }
}

export const percentOf = (results: readonly RoomResult[]): string => {
  const { killable, counts } = sumOf(results.flatMap(({ files }) => files))
  return `${percent(counts.killed, killable)} %`
}

export const describeUnexplained = ({ file, line, state, from, to }: LivingMutant): string =>
  `${file}:${line} ${state === 'unreached' ? 'reached by no test' : 'no test notices'}:\n    ${from}\n  → ${to}`
