import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A line, and where it stands: `offence` prints it the way editors open it. */
export type Line = { readonly file: string; readonly number: number; readonly text: string }

export const offence = ({ file, number, text }: Line): string => `${file}:${number} ${text.trim()}`

/** Every file of the checkout by its path, those not yet committed among the others; generated and foreign ones left out. */
export const files: readonly string[] = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter((file) => file !== '' && !file.includes('fixtures/') && file !== 'package-lock.json')
  .filter((file) => existsSync(join(root, file)))
  .toSorted()

export function linesOf(file: string): Line[] {
  const texts = readFileSync(join(root, file), 'utf8').replace(/\n$/, '').split('\n')
  return texts.map((text, index) => ({ file, number: index + 1, text }))
}

export const lines = (wanted: RegExp): Line[] => files.filter((file) => wanted.test(file)).flatMap(linesOf)

export type Import = Line & { readonly from: string; readonly typeOnly: boolean }

/** The imports of a file: paths of the checkout as `src/…`, packages by their names. Imports over several lines count at their end. */
export function importsOf(file: string): Import[] {
  const found: Import[] = []
  let typeOnly = false
  for (const line of linesOf(file)) {
    if (/^(import|export) /.test(line.text)) typeOnly = /^(import|export) type /.test(line.text)
    const [, spoken] = line.text.match(/(?:from |import\(|^import )'([^']+)'/) ?? []
    if (spoken === undefined) continue
    const from = spoken.startsWith('.') ? normalize(join(dirname(file), spoken)) : spoken
    found.push({ ...line, from, typeOnly })
  }
  return found
}
