import { z } from 'zod'

/** The subset of JSON Schema that we describe. */
type Shape = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly items?: Shape
  readonly additionalProperties?: Shape | boolean
  readonly [word: string]: unknown
}

export type FittingValue = { readonly name: string; readonly required: boolean; readonly text: string }

const FIELDS_MAX = 60

/**
 * The values that a schema takes at a place within a record, in words. At the record itself, and wherever an object is wanted: each of
 * its fields. Empty: the schema knows no such place.
 */
export function fittingValues(schema: z.ZodType, path: string): FittingValue[] {
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape // written by zod
  // A pushed item is named by its place in the request first.
  const words = path
    .replace(/^\[\d+\]\.?/, '')
    .split('.')
    .filter((word) => word !== '')
  let [shape, isRequired]: [Shape | undefined, boolean] = [whole, true]
  for (const word of words) {
    const parent: Shape | undefined = branchWith(shape, word)
    isRequired = parent?.required?.includes(word) ?? false
    shape = parent && partOf(parent, word)
  }
  if (!shape) return []
  const fields = Object.entries(objectIn(shape)?.properties ?? {}).slice(0, FIELDS_MAX)
  if (fields.length === 0) return [{ name: words.at(-1) ?? '', required: isRequired, text: textOf(shape) }]
  const required = objectIn(shape)?.required ?? []
  return fields.map(([name, field]) => ({ name, required: required.includes(name), text: textOf(field) }))
}

const branchesOf = (shape: Shape | undefined): readonly Shape[] => shape?.anyOf ?? (shape ? [shape] : [])
const branchWith = (shape: Shape | undefined, word: string) => branchesOf(shape).find((shape) => partOf(shape, word))
const objectIn = (shape: Shape) => branchesOf(shape).find(({ properties }) => properties)

function partOf(shape: Shape, word: string): Shape | undefined {
  if (shape.properties?.[word]) return shape.properties[word]
  if (/^\d+$/.test(word) && shape.items) return shape.items
  const { additionalProperties: others } = shape
  return typeof others === 'object' && Object.keys(others).length > 0 ? others : undefined
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
}

function textOf(shape: Shape): string {
  if (shape.anyOf) return [...new Set(shape.anyOf.map(textOf))].join(', or ')
  if (shape.const !== undefined) return JSON.stringify(shape.const)
  if (shape.enum) return `one of ${shape.enum.map((value) => JSON.stringify(value)).join(', ')}`
  const types = [shape.type ?? []].flat().map((type) => typeWords[type] ?? type)
  if (isInstant(shape)) return 'a date or date-time, such as 2026-03-01T08:00:00+02:00'
  return [types.join(' or ') || 'any value', ...boundsOf(shape)].join(', ')
}

const patternOf = ({ pattern }: Shape): string => (typeof pattern === 'string' ? pattern : '')
/** The pattern of date-times has a page of its own; it alone names the letter between date and time. */
const isInstant = (shape: Shape): boolean => patternOf(shape).includes('[Tt]')
const NO_ZERO_LETTER = '^[^\\u0000]*$'

const SAFE = Number.MAX_SAFE_INTEGER

function boundsOf(shape: Shape): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems, format } =
    shape
  const pattern = patternOf(shape)
  const isBound = (bound: unknown) => typeof bound === 'number' && Math.abs(bound) < SAFE
  return [
    ...(isBound(minimum) ? [`at least ${minimum}`] : []),
    ...(isBound(exclusiveMinimum) ? [`above ${exclusiveMinimum}`] : []),
    ...(isBound(maximum) ? [`at most ${maximum}`] : []),
    ...(isBound(exclusiveMaximum) ? [`below ${exclusiveMaximum}`] : []),
    ...(isBound(minLength) ? [`of ${minLength} ${minLength === 1 ? 'letter' : 'letters'} or more`] : []),
    ...(isBound(maxLength) ? [`of up to ${maxLength} letters`] : []),
    ...(isBound(minItems) ? [`of ${minItems} or more`] : []),
    ...(isBound(maxItems) ? [`of up to ${maxItems}`] : []),
    ...(typeof format === 'string' ? [`as ${format}`] : []),
    ...(pattern !== '' && pattern !== NO_ZERO_LETTER && typeof format !== 'string' ? [`like ${pattern}`] : []),
  ]
}
