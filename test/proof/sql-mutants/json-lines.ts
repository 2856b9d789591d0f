import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** A file of JSON texts, one a line, that only grows: what an interrupted run leaves is whole up to its last line. */
export function readLines<T>(file: string): T[] {
  if (!existsSync(file)) return []
  const text = readFileSync(file, 'utf8')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line): T => JSON.parse(line))
}

export const addLine = (file: string, line: object): void => appendFileSync(file, `${JSON.stringify(line)}\n`)
