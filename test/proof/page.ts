import type { KeptResult } from './kept-results.ts'
import type { ProofPart, ProofTable } from './part.ts'
import { promises, testFileOf } from './promises.ts'

/** The text of docs/why/proof.md. */
export function pageOf(parts: readonly ProofPart[], results: readonly KeptResult[]): string {
  return `${[
    '# How the promises are checked',
    '',
    'For readers who ask why they should trust a sync worker with their data. `npm run proof` makes this page from its results: edit',
    'neither by hand. The command says how long each part takes, and continues after an interruption. `.ci/run` repeats a sample of',
    'each part for every change: the date chooses it.',
    '',
    '## Each promise, and what would notice that it is broken',
    '',
    ...promiseTable(parts),
    ...parts.flatMap((part) => {
      const result = results.find(({ name }) => name === part.name)
      return result ? sectionOf(result) : unmeasuredSectionOf(part)
    }),
    '## Inputs that others choose',
    '',
    'What people and other programs send is drawn at random: the properties in `test/proof/properties.md`, each with its test.',
    '',
    '## What is not checked',
    '',
    ...results.flatMap(({ notChecked }) => notChecked.map((sentence) => `- ${sentence}`)),
  ]
    .join('\n')
    .trimEnd()}\n`
}

function promiseTable(all: readonly ProofPart[]): string[] {
  const rows = Object.entries(promises).map(([number, promise]) => {
    const file = testFileOf(Number(number))
    const parts = all.filter((part) => part.promises.includes(Number(number))).map(({ name }) => name)
    return [number, promise, `\`${file}\``, parts.join(', ')]
  })
  return tableLines({ title: '', columns: ['', 'promise', 'its own test', 'and these parts'], rows })
}

const unmeasuredSectionOf = ({ name, checks }: ProofPart): string[] => [
  `## ${name}`,
  '',
  checks,
  '',
  'This part has not been run as a whole yet, so there are no figures.',
  '',
]

function sectionOf(part: KeptResult): string[] {
  const when = `${part.date}, commit ${part.commit}, seed ${part.seed}, ${part.minutes} minutes on ${part.machine}.`
  return [
    `## ${part.name}`,
    '',
    part.checks,
    '',
    part.holds ? `Measured: ${when}` : `Measured, and not to its end or with findings: ${when}`,
    '',
    ...part.tables.flatMap(tableLines),
    ...survivorLines(part),
  ]
}

function survivorLines({ survivors }: KeptResult): string[] {
  if (survivors.length === 0) return []
  const lines = survivors.map(
    ({ where, change, reason }) => `- \`${where}\`: \`${change.replaceAll('`', "'")}\`: ${reason}`,
  )
  return [
    `<details><summary>${survivors.length} changes that no test notices, and why</summary>`,
    '',
    ...lines,
    '',
    '</details>',
    '',
  ]
}

function tableLines({ title, columns, rows }: ProofTable): string[] {
  const line = (cells: readonly (string | number)[]) => `| ${cells.map(cellText).join(' | ')} |`
  const heading = title ? [`### ${title}`, ''] : []
  return [...heading, line(columns), line(columns.map(() => '---')), ...rows.map(line), '']
}

const cellText = (cell: string | number): string =>
  typeof cell === 'number' ? cell.toLocaleString('en') : cell.replaceAll('|', '\\|')
