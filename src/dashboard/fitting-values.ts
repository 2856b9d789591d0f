import { z } from 'zod'
import { type Schema, typeWords } from '../base/text/plain-types.ts'

export type FittingValue = { readonly name: string; readonly required: boolean; readonly text: string }

const FIELDS_MAX = 60

/**
 * The values that a schema takes at a place within a record, in words. At the record itself, and wherever an object is wanted: each of
 * its fields. Empty: the schema knows no such place.
 */
export function fittingValues(schema: z.ZodType, path: string): FittingValue[] {
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema // written by zod
  // A pushed item is named by its place in the request first.
  const words = path
    .replace(/^\[\d+\]\.?/, '')
    .split('.')
    .filter((word) => word !== '')
  let [shape, isRequired]: [Schema | undefined, boolean] = [whole, true]
  for (const word of words) {
    const parent: Schema | undefined = branchWith(shape, word)
    isRequired = parent?.required?.includes(word) ?? false
    shape = parent && partOf(parent, word)
  }
  if (!shape) return []
  const fields = Object.entries(objectIn(shape)?.properties ?? {}).slice(0, FIELDS_MAX)
  if (fields.length === 0) return [{ name: words.at(-1) ?? '', required: isRequired, text: textOf(shape) }]
  const required = objectIn(shape)?.required ?? []
  return fields.map(([name, field]) => ({ name, required: required.includes(name), text: textOf(field) }))
}

const textOf = (schema: Schema) =>
  typeWords(schema).replace('date-time', 'date-time, such as 2026-03-01T08:00:00+02:00')

const branchesOf = (shape: Schema | undefined): readonly Schema[] => shape?.anyOf ?? (shape ? [shape] : [])
const branchWith = (shape: Schema | undefined, word: string) => branchesOf(shape).find((shape) => partOf(shape, word))
const objectIn = (shape: Schema) => branchesOf(shape).find(({ properties }) => properties)

function partOf(shape: Schema, word: string): Schema | undefined {
  if (shape.properties?.[word]) return shape.properties[word]
  if (/^\d+$/.test(word) && shape.items) return shape.items
  const { additionalProperties: others } = shape
  return typeof others === 'object' && Object.keys(others).length > 0 ? others : undefined
}
