import { externalIdSchema } from '../base/contract/authentication.ts'
import type { StrangeType } from '../base/contract/data-types.ts'
import { parseInstant } from '../base/time/instant.ts'
import type { Fields, PushedStream } from '../pipeline/transfer/stream.ts'
import type { FileEntry, FileFormat } from './file-entries.ts'
import type { ImportRow, NewItem } from './import-rows.ts'

const instantFields = ['startDateTime', 'endDateTime', 'postDateTime', 'modifiedDateTime']
/** Beside the fields of a log: when it was handed in, where that was before the import. */
const HANDED_IN_AT = 'handedInAt'
const PROPERTIES_COLUMN = 'additionalProperties'
const PROPERTY_PREFIX = `${PROPERTIES_COLUMN}.`

type ParsedItem = { readonly externalId: string; readonly item: NewItem }

export type ItemOptions = {
  readonly stream: PushedStream
  readonly format: FileFormat
  /** Adds an offset to a date-time that carries none. */
  readonly completeOffset: (text: string) => string
  /** A snapshot replaces the whole object upstream, instead of changing the fields that it names. */
  readonly replace: boolean
  readonly nowMs: number
  /** Called for each item of a type from which nothing is derived. */
  readonly onStrangeType?: (strange: StrangeType) => void
}

/** The rows of a file in a form of our own. */
export async function* fileRows(
  entries: AsyncIterable<FileEntry>,
  options: ItemOptions,
): AsyncGenerator<readonly ImportRow[]> {
  for await (const entry of entries) {
    const { line, end: position } = entry
    const text = () => ('fault' in entry ? entry.text : JSON.stringify(entry.fields))
    const outcome = 'fault' in entry ? { fault: entry.fault } : toItem(entry.fields, options)
    yield [{ position, line, ...outcome, shown: () => ({ line, text: text() }) }]
  }
}

/** Makes an outbox item of one entry, or names every fault of the entry, and no value. */
export function toItem(fields: Fields, options: ItemOptions): ParsedItem | { readonly fault: string } {
  const { stream, format, nowMs } = options
  const { externalId: name, [HANDED_IN_AT]: handedInAt, ...others } = fields
  const rest = stream.evidenceOf || handedInAt === undefined ? others : { ...others, [HANDED_IN_AT]: handedInAt }
  const { data: externalId, error: nameError } = externalIdSchema.safeParse(name)
  if (externalId === undefined) return { fault: `externalId: ${nameError?.issues[0]?.message}` }
  const handedInAtMs = stream.evidenceOf ? epochMsOf(handedInAt) : undefined
  if (stream.evidenceOf && (handedInAt ?? '') !== '' && !(Number(handedInAtMs) <= nowMs))
    return { fault: `${HANDED_IN_AT}: is no date-time, or later than now` }
  const body = withOffsets(format === 'csv' ? typedCells(stream, rest) : rest, options.completeOffset)
  const fault = faultOfItem(stream, body)
  if (fault !== undefined) return { fault }
  const strange = stream.strangeType?.(body)
  if (strange) options.onStrangeType?.(strange)
  return { externalId, item: { stream: stream.name, ...withItemKey({ externalId, body, handedInAtMs }, options) } }
}

/** Every fault of an item, and no value; undefined for an item that the schema accepts. */
export function faultOfItem({ schema, quickCheck }: Pick<PushedStream, 'schema' | 'quickCheck'>, body: Fields) {
  if (quickCheck?.(body)) return undefined
  return schema
    .safeParse(body)
    .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    .join('; ')
}

type Handed = { readonly externalId: string; readonly body: Fields; readonly handedInAtMs: number | undefined }

function withItemKey({ externalId, body, handedInAtMs }: Handed, { stream, replace, nowMs }: ItemOptions) {
  const startAtMs = epochMsOf(body['startDateTime']) ?? nowMs
  const endAtMs = epochMsOf(body['endDateTime']) ?? startAtMs
  if (stream.kind === 'list') {
    const { itemKey, body: identified } = stream.identify(body, { externalId, startAtMs, endAtMs })
    const found = stream.evidenceOf?.(body)
    const evidence = found && handedInAtMs !== undefined ? { ...found, handedInAtMs } : found
    return { itemKey, body: JSON.stringify(identified), startAtMs, endAtMs, evidence }
  }
  const mode = replace ? ('put' as const) : ('patch' as const)
  return { itemKey: stream.name, body: JSON.stringify(body), mode, startAtMs, endAtMs }
}

const epochMsOf = (text: unknown): number | undefined =>
  typeof text === 'string' ? parseInstant(text)?.epochMs : undefined

function withOffsets(body: Fields, completeOffset: ItemOptions['completeOffset']): Fields {
  let changed: Record<string, unknown> | undefined
  for (const name of instantFields) {
    const text = body[name]
    if (typeof text !== 'string') continue
    const completed = completeOffset(text)
    if (completed === text) continue
    changed ??= { ...body }
    changed[name] = completed
  }
  return changed ?? body
}

/** Cells are texts: cells of the stream's numbers become numbers, and `additionalProperties.x` becomes a property x. */
function typedCells({ numbers }: PushedStream, cells: Fields): Fields {
  const body: Record<string, unknown> = {}
  const properties: Record<string, unknown> = {}
  for (const [name, cell] of Object.entries(cells)) {
    if (name.startsWith(PROPERTY_PREFIX)) properties[name.slice(PROPERTY_PREFIX.length)] = cell
    else body[name] = numbers.includes(name) ? numberIn(cell) : cell
  }
  return Object.keys(properties).length > 0 ? { ...body, additionalProperties: properties } : body
}

const numberIn = (cell: unknown): unknown => {
  const number = typeof cell === 'string' && cell.trim() !== '' ? Number(cell) : Number.NaN
  return Number.isNaN(number) ? cell : number
}

/** The columns that a CSV file may have beside externalId. A file with another column is refused: its cells would be lost. */
export const csvColumnsOf = ({ schema, evidenceOf }: PushedStream): string[] => [
  ...Object.keys(schema.shape),
  ...(evidenceOf ? [HANDED_IN_AT] : []),
]

/** The columns of a file that no item has. */
export function unknownColumns(stream: PushedStream, columns: readonly string[]): string[] {
  const itemColumns = csvColumnsOf(stream)
  const known = ['externalId', ...itemColumns.filter((name) => name !== PROPERTIES_COLUMN)]
  const takesProperties = itemColumns.includes(PROPERTIES_COLUMN)
  return columns.filter((name) => !known.includes(name) && !(takesProperties && name.startsWith(PROPERTY_PREFIX)))
}

/** The columns without which every line of a CSV file is rejected. */
export const requiredColumnsOf = ({ schema }: PushedStream): string[] =>
  Object.entries(schema.shape).flatMap(([name, field]) => (field.safeParse(undefined).success ? [] : [name]))
