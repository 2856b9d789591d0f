/** The part of JSON Schema that our own schemas come to. */
export type Schema = {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly format?: string
  readonly description?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly pattern?: string
  readonly [other: string]: unknown
}

/** A field of a body, by its path: `factors[].name`. */
export type Field = { readonly path: string; readonly type: string; readonly required: boolean; readonly note: string }

/** Fields below this depth are not listed: no schema of ours is deeper, and a stranger's must end. */
const DEPTH_MAX = 8

/** All fields of a body, those of objects and of lists of objects below their parent. */
export function fieldsOf(schema: Schema, path = '', depth = 0): Field[] {
  if (depth > DEPTH_MAX) return []
  const whole = withoutNull(schema)
  const oneOrMany = whole.anyOf?.find(({ items }) => items !== undefined)
  if (oneOrMany) return fieldsOf(oneOrMany, path, depth)
  if (whole.items) return fieldsOf(whole.items, `${path}[]`, depth)
  return Object.entries(whole.properties ?? {}).flatMap(([name, property]) => {
    const fieldPath = path === '' || path === '[]' ? name : `${path}.${name}`
    const field = {
      path: fieldPath,
      type: typeWords(property),
      required: whole.required?.includes(name) === true,
      note: noteOf(property),
    }
    return [field, ...fieldsOf(property, fieldPath, depth + 1)]
  })
}

/** How many a body holds: one object, a list of objects, or either. */
export function shapeWords(schema: Schema): string {
  if (schema.anyOf?.some(({ items }) => items !== undefined)) return 'One object, or a list of them, each with'
  if (schema.items)
    return schema.maxItems === undefined ? 'A list, each with' : `A list of up to ${schema.maxItems}, each with`
  return 'An object with'
}

/** A type as one would say it: `text, up to 200 characters`, `number from 0 to 1, or null`. */
export function typeWords(schema: Schema): string {
  if (schema.anyOf) return joinOr(schema.anyOf.map(typeWords))
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum)
    return schema.enum.length === 1 ? literal(schema.enum[0]) : `one of ${schema.enum.map(literal).join(', ')}`
  if (Array.isArray(schema.type)) return joinOr(schema.type.map((type: string) => typeWords({ ...schema, type })))
  switch (schema.type) {
    case 'string':
      return stringWords(schema)
    case 'integer':
      return withRange('whole number', schema)
    case 'number':
      return withRange('number', schema)
    case 'boolean':
      return 'true or false'
    case 'null':
      return 'null'
    case 'array':
      return listWords(schema)
    default:
      return objectWords(schema)
  }
}

function stringWords({ format, description = '', minLength = 0, maxLength, pattern = '' }: Schema): string {
  if (format === 'uuid') return 'UUID'
  if (format === 'date-time' || description.startsWith('ISO 8601 date-time') || pattern.includes('[Tt]'))
    return 'date-time'
  if (format === 'date' || pattern.startsWith('^\\d{4}-')) return 'date'
  if (pattern.startsWith('^[0-9]') || pattern.startsWith('^\\d')) return 'whole number'
  const letters = /^\^\[A-Za-z\]\{(\d+)\}\$$/.exec(pattern)?.[1]
  if (letters !== undefined) return `text of ${letters} letters`
  if (maxLength === undefined) return minLength > 0 ? 'text that is not empty' : 'text'
  return minLength > 0 ? `text of ${minLength} to ${maxLength} characters` : `text, up to ${maxLength} characters`
}

function listWords({ items, maxItems }: Schema): string {
  const bound = maxItems === undefined ? '' : `, up to ${maxItems}`
  return `list of ${itemWords(items)}${bound}`
}

function itemWords(items: Schema | undefined): string {
  if (items === undefined) return 'anything'
  if (items.properties) return 'objects'
  const words = typeWords(items)
  if (words.startsWith('text')) return 'texts'
  return /^(whole number|number|UUID|date|date-time)$/.test(words) ? `${words}s` : words
}

function objectWords({ properties, additionalProperties }: Schema): string {
  if (properties) return 'object'
  if (typeof additionalProperties !== 'object') return 'anything'
  return `object of names and ${typeWords(additionalProperties)}`
}

/** The bounds that zod gives every integer say nothing. */
const isBound = (bound: number | undefined) => bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER

function withRange(kind: string, { minimum, maximum }: Schema): string {
  if (isBound(minimum) && isBound(maximum)) return `${kind} from ${minimum} to ${maximum}`
  if (isBound(minimum)) return `${kind}, at least ${minimum}`
  return isBound(maximum) ? `${kind}, at most ${maximum}` : kind
}

function joinOr(words: readonly string[]): string {
  const [last, ...others] = [...new Set(words)].toReversed()
  return others.length === 0 ? (last ?? '') : `${others.toReversed().join(', ')} or ${last}`
}

const literal = (value: unknown) => (value === '' ? '""' : String(value))

function withoutNull(schema: Schema): Schema {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null') ?? []
  return others.length === 1 && others[0] ? others[0] : schema
}

/** The page explains date-times once. */
const dateTimes = /^ISO 8601 date-time; without an offset it is UTC, a date alone is its midnight in UTC[.;]? ?/

export function noteOf(schema: Schema): string {
  const described = withoutNull(schema).description?.replace(dateTimes, '') ?? ''
  const absent = schema.default === undefined ? '' : `absent: ${String(schema.default)}`
  return [described, absent].filter(Boolean).join('; ')
}
