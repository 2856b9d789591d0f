import { createHash } from 'node:crypto'
import { pulledStreams } from '../../../config/streams.ts'
import type { Column, Fields, PulledStream } from '../../../src/pipeline/transfer/stream.ts'
import type { HeldRecord } from './history.ts'

/** The streams whose records have a time. */
export const comparedStreams: readonly PulledStream[] = pulledStreams.filter(({ kind }) => kind === 'windowed')
/** The streams whose records describe the present. */
export const snapshotStreams: readonly PulledStream[] = pulledStreams.filter(({ kind }) => kind === 'snapshot')

/** A record as it is compared, read from its JSON alone. */
export function heldRecord(stream: PulledStream, fields: Fields): HeldRecord {
  const cell = ({ from, type, absent }: Column) => {
    const value = from.map((name) => fields[name]).find((found) => found !== undefined && found !== null)
    return type === 'instant' ? String(Date.parse(String(value))) : String(value ?? absent ?? '')
  }
  const column = (name: string | undefined) => stream.columns.find((one) => one.name === name)
  const key = stream.columns.filter((one) => one.key).map(cell)
  const start = column(stream.startColumn)
  const end = column(stream.endColumn)
  const startMs = start ? Number(cell(start)) : 0
  const endMs = end ? Number(cell(end)) : startMs
  return { key: key.join(' '), digest: digestOf(fields), startMs, endMs: Number.isNaN(endMs) ? startMs : endMs }
}

export const shortDigest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

/** Equal records have equal digests, whatever the order of their keys. */
function digestOf(fields: Fields): string {
  const sorted = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value
  return shortDigest(JSON.stringify(fields, sorted))
}

/** The path of a stream's windows up to the name of the person. */
export const beforeName = (path: string): string => path.replace('{externalId}', '')
