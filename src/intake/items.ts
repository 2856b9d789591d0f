import type { z } from 'zod'
import { dataLogInputSchema } from '../contract/data-log.ts'
import { demographicInputSchema } from '../contract/demographic.ts'
import { deviceInformationInputSchema } from '../contract/device-information.ts'
import { parseInstant } from '../contract/instant.ts'
import { tagInputSchema } from '../contract/tag.ts'
import { namedUuid } from '../named-uuid.ts'
import type { OutboxItem, PushedStream } from '../warehouse/outbox.ts'
import type { FileFormat } from './records.ts'

export const itemKinds = ['data-logs', 'tags', 'demographics', 'device-information'] as const satisfies PushedStream[]

const schemas: Readonly<Record<PushedStream, z.ZodType>> = {
  'data-logs': dataLogInputSchema,
  tags: tagInputSchema,
  demographics: demographicInputSchema,
  'device-information': deviceInformationInputSchema,
}

/** The columns a CSV may have, beside externalId. Others are a mistake, for they would be lost. */
export const csvColumns: Readonly<Record<PushedStream, readonly string[]>> = {
  'data-logs': Object.keys(dataLogInputSchema.shape),
  tags: Object.keys(tagInputSchema.shape),
  demographics: Object.keys(demographicInputSchema.shape),
  'device-information': Object.keys(deviceInformationInputSchema.shape),
}

const instants = ['startDateTime', 'endDateTime', 'postDateTime', 'modifiedDateTime']
const PROPERTY = 'additionalProperties.'
/** Under it lie the ids of logs that came without one. */
const NAMESPACE = '8d0f3c1e-5a52-4f0b-9a35-1f1f3f0c7a11'

export type ReadItem = { readonly externalId: string; readonly item: Omit<OutboxItem, 'profileId'> }
export type Fault = { readonly fault: string }

export type ItemOptions = {
  readonly kind: PushedStream
  readonly format: FileFormat
  /** Completes a date-time without an offset. */
  readonly zoned: (text: string) => string
  /** Demographics replace what is there, instead of changing what they name. */
  readonly replace: boolean
  readonly nowMs: number
}

/** Makes an outbox item of one entry, or says what is wrong with it, naming every fault and no value. */
export function toItem(fields: Readonly<Record<string, unknown>>, options: ItemOptions): ReadItem | Fault {
  const { externalId, ...rest } = fields
  if (typeof externalId !== 'string' || externalId.length < 1 || externalId.length > 100)
    return { fault: 'externalId: must be a text of 1 to 100 characters' }
  const body = zonedIn(options.format === 'csv' ? typed(options.kind, rest) : rest, options.zoned)
  const { error } = schemas[options.kind].safeParse(body)
  if (error) return { fault: error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ') }
  return { externalId, item: { stream: options.kind, ...named(externalId, body, options) } }
}

type Body = Readonly<Record<string, unknown>>

function named(externalId: string, body: Body, { kind, replace, nowMs }: ItemOptions) {
  const startAtMs = msOf(body['startDateTime']) ?? nowMs
  const endAtMs = msOf(body['endDateTime']) ?? startAtMs
  if (kind === 'data-logs') {
    const { id, logType, dataType, source } = body
    // The same measurement read from another file, or again, is the same log: upstream knows it by this id.
    const parts = [externalId, logType, dataType, source, startAtMs, endAtMs].map(String)
    const itemKey = typeof id === 'string' ? id.toLowerCase() : namedUuid(NAMESPACE, parts)
    return { itemKey, body: JSON.stringify({ ...body, id: itemKey }), startAtMs, endAtMs }
  }
  if (kind === 'tags') {
    const { type, name, source } = body
    const itemKey = JSON.stringify([type, name, source, startAtMs])
    return { itemKey, body: JSON.stringify(body), startAtMs, endAtMs }
  }
  const mode = replace ? ('put' as const) : ('patch' as const)
  return { itemKey: kind, body: JSON.stringify(body), mode, startAtMs, endAtMs }
}

const msOf = (text: unknown): number | undefined => (typeof text === 'string' ? parseInstant(text)?.epochMs : undefined)

function zonedIn(body: Body, zoned: (text: string) => string): Body {
  let changed: Record<string, unknown> | undefined
  for (const name of instants) {
    const text = body[name]
    if (typeof text !== 'string') continue
    const whole = zoned(text)
    if (whole === text) continue
    changed ??= { ...body }
    changed[name] = whole
  }
  return changed ?? body
}

/** Cells are texts: a log's value becomes a number, and `additionalProperties.x` a property x. */
function typed(kind: PushedStream, cells: Body): Body {
  const body: Record<string, unknown> = {}
  const properties: Record<string, unknown> = {}
  for (const [name, cell] of Object.entries(cells)) {
    if (name.startsWith(PROPERTY)) properties[name.slice(PROPERTY.length)] = cell
    else body[name] = kind === 'data-logs' && name === 'value' ? numberIn(cell) : cell
  }
  return Object.keys(properties).length > 0 ? { ...body, additionalProperties: properties } : body
}

const numberIn = (cell: unknown): unknown => {
  const number = typeof cell === 'string' && cell.trim() !== '' ? Number(cell) : Number.NaN
  return Number.isNaN(number) ? cell : number
}

/** The columns of a file that no item has. */
export function strangeColumns(kind: PushedStream, columns: readonly string[]): string[] {
  const known = ['externalId', ...csvColumns[kind].filter((name) => name !== 'additionalProperties')]
  const takesProperties = csvColumns[kind].includes('additionalProperties')
  return columns.filter((name) => !known.includes(name) && !(takesProperties && name.startsWith(PROPERTY)))
}
