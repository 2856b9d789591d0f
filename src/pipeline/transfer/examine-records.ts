import { z } from 'zod'
import type { Schema } from '../../base/text/plain-types.ts'
import { FieldTally } from './field-tally.ts'
import { foldedWord, joinedPath, jsonTypeOf, type KindRule, type KnownRecords, type Misfit } from './misfits.ts'
import type { Fields } from './stream.ts'

/** The known fields of the objects at one path, and the shapes that such objects have had. */
type Place = {
  readonly path: string
  readonly fields: ReadonlyMap<string, KnownField>
  readonly required: readonly string[]
  readonly isOpen: boolean
  readonly kinds: KnownKinds | undefined
  readonly shapes: Shape[]
}

type KnownKinds = {
  readonly field: string
  readonly unitOf: ReadonlyMap<string, string>
}

type KnownField = {
  readonly path: string
  /** Undefined: any. */
  readonly types: ReadonlySet<string> | undefined
  readonly words: ReadonlySet<unknown> | undefined
  readonly isInstant: boolean
  readonly place: Place | undefined
  readonly elements: KnownField | undefined
}

/** The names of an object in their order, with a number for the type of each value: an object of a known shape is only compared. */
type Shape = {
  readonly names: readonly string[]
  readonly codes: readonly number[]
  readonly misfits: readonly Misfit[]
  /** The fields whose values are looked at one by one. */
  readonly checked: ReadonlyArray<{ readonly name: string; readonly field: KnownField }>
}

/** Further shapes are not remembered, and further misfits share one object for each kind. */
const SHAPES_MAX = 40
const MISFITS_MAX = 400
const NAMES_MAX = 200
const ELEMENTS_MAX = 50

/**
 * Compares records with what is known of them. Most records have the shape of one before, and cost a comparison of names and types and
 * the look-up of their words. A misfit is one object, however often it is found: it can be counted by identity.
 */
export class RecordExaminer {
  /** The fields that the records may lack. */
  readonly optional: FieldTally
  private readonly root: Place
  private readonly isPersonal: boolean
  private readonly misfits = new Map<string, Misfit>()
  private found: Misfit[] = []

  constructor({ schema, kinds }: KnownRecords) {
    const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema // written by zod
    this.root = placeOf(whole, '', kinds ?? [])
    this.optional = new FieldTally(this.root.required)
    this.isPersonal = kinds === undefined
  }

  /** The field that names the type of a record. Undefined: the records have none. */
  get typeField(): string | undefined {
    return this.root.kinds?.field
  }

  /** The misfits of one record, each once. */
  examine(record: Fields): readonly Misfit[] {
    this.found = []
    this.examineObject(record, this.root)
    return this.found
  }

  /** The misfit of the record's own kind or unit. It costs one look-up. */
  kindMisfitOf(record: Fields): Misfit | undefined {
    return this.root.kinds && this.misfitOfKind(record, this.root, this.root.kinds)
  }

  private add(misfit: Misfit): void {
    if (!this.found.includes(misfit)) this.found.push(misfit)
  }

  private examineObject(value: Fields, place: Place): void {
    let shape = place.shapes.find((known) => hasShape(value, known))
    if (shape === undefined) {
      shape = shapeOf(value, place, (...misfit) => this.misfitOf(...misfit))
      if (place.shapes.length < SHAPES_MAX && shape.names.length <= NAMES_MAX) place.shapes.push(shape)
    }
    for (const misfit of shape.misfits) this.add(misfit)
    for (const { name, field } of shape.checked) this.examineValue(value[name], field)
    const ofKind = place.kinds && this.misfitOfKind(value, place, place.kinds)
    if (ofKind) this.add(ofKind)
  }

  /** A value of a type that is known of the field. */
  private examineValue(value: unknown, { path, words, isInstant, place, elements }: KnownField): void {
    if (words !== undefined) {
      if (!words.has(value)) this.add(this.misfitOfWord(words, path, String(value)))
    } else if (isInstant) {
      if (isFinerThanMs(String(value))) this.add(this.misfitOf('precision', path))
    } else if (place !== undefined) this.examineObject(Object(value), place)
    else if (elements !== undefined && Array.isArray(value)) {
      const count = Math.min(value.length, ELEMENTS_MAX)
      for (let index = 0; index < count; index += 1) this.examineElement(value[index], elements)
    }
  }

  private examineElement(value: unknown, field: KnownField): void {
    const type = jsonTypeOf(value)
    if (field.types !== undefined && !field.types.has(type))
      this.add(this.misfitOf(value === null ? 'null' : 'type', field.path, type))
    else if (value !== null) this.examineValue(value, field)
  }

  private misfitOfKind(value: Fields, { path, fields }: Place, { field, unitOf }: KnownKinds): Misfit | undefined {
    const { [field]: kind, unit } = value
    if (typeof kind !== 'string') return undefined
    const known = unitOf.get(kind)
    if (known === '' || (known !== undefined && known === unit)) return undefined
    const words = foldedWord(kind) + (typeof unit === 'string' ? ` in ${foldedWord(unit)}` : '')
    if (known !== undefined)
      return typeof unit === 'string'
        ? this.misfitOf('unit', joinedPath(path, 'unit'), `${words}, not ${known}`)
        : undefined
    const closed = fields.get(field)?.words
    return closed
      ? this.misfitOfWord(closed, joinedPath(path, field), kind)
      : this.misfitOf('kind', joinedPath(path, field), words)
  }

  private misfitOfWord(words: ReadonlySet<unknown>, path: string, value: string): Misfit {
    const lower = value.toLowerCase()
    const isInOtherCase = [...words].some((word) => String(word).toLowerCase() === lower)
    return this.misfitOf(isInOtherCase ? 'case' : 'word', path, this.isPersonal ? '' : foldedWord(value))
  }

  /** The one object for a misfit. Beyond MISFITS_MAX there is one for each kind of misfit. */
  private misfitOf(what: Misfit['what'], path: string, detail = ''): Misfit {
    const { misfits } = this
    const key = `${what} ${path} ${detail}`
    const isFull = misfits.size >= MISFITS_MAX
    const known = misfits.get(key) ?? (isFull ? misfits.get(what) : undefined)
    if (known !== undefined) return known
    const misfit = isFull ? { what, path: '*', detail: '' } : { what, path, detail }
    misfits.set(isFull ? what : key, misfit)
    return misfit
  }
}

const jsonTypes: Readonly<Record<string, string>> = { integer: 'number', array: 'list' }

function fieldOf(schema: Schema, path: string, kinds: readonly KindRule[]): KnownField {
  const forms = schema.anyOf ?? [schema]
  const types = forms.flatMap(({ type }) => type ?? [])
  const words = forms.flatMap((form) => form.enum ?? (form.const === undefined ? [] : [form.const]))
  const object = forms.find(({ properties }) => properties)
  const list = forms.find(({ items }) => items)?.items
  return {
    path,
    types: forms.some(({ type }) => type === undefined)
      ? undefined
      : new Set(types.map((type) => jsonTypes[type] ?? type)),
    words: words.length > 0 ? new Set(words) : undefined,
    isInstant: forms.some(({ format }) => format === 'date-time'),
    place: object && placeOf(object, path, kinds),
    elements: list && fieldOf(list, `${path}[]`, kinds),
  }
}

function placeOf(schema: Schema, path: string, kinds: readonly KindRule[]): Place {
  const { properties = {}, required = [], additionalProperties } = schema
  const rule = kinds.find((kind) => kind.path === path)
  const fields = new Map(
    Object.entries(properties).map(([name, field]) => [name, fieldOf(field, joinedPath(path, name), kinds)]),
  )
  return {
    path,
    fields,
    required,
    isOpen: additionalProperties !== false,
    kinds: rule && {
      field: rule.field,
      unitOf: new Map(Object.entries(rule.units)),
    },
    shapes: [],
  }
}

function hasShape(value: Fields, { names, codes }: Shape): boolean {
  let index = 0
  for (const name in value) {
    if (name !== names[index] || codeOf(value[name]) !== codes[index]) return false
    index += 1
  }
  return index === names.length
}

function codeOf(value: unknown): number {
  if (typeof value === 'string') return 1
  if (typeof value === 'number') return 2
  if (typeof value === 'boolean') return 3
  if (value === null) return 4
  return Array.isArray(value) ? 5 : 6
}

function shapeOf(
  value: Fields,
  { path, fields, required, isOpen }: Place,
  misfitOf: (what: Misfit['what'], path: string, detail?: string) => Misfit,
): Shape {
  const misfits = required.flatMap((name) => (name in value ? [] : misfitOf('missing', joinedPath(path, name))))
  const checked: Array<Shape['checked'][number]> = []
  for (const [name, part] of Object.entries(value).slice(0, NAMES_MAX)) {
    const field = fields.get(name)
    const type = jsonTypeOf(part)
    if (field === undefined) {
      if (!isOpen) misfits.push(misfitOf('extra', joinedPath(path, name)))
    } else if (field.types !== undefined && !field.types.has(type)) {
      misfits.push(type === 'null' ? misfitOf('null', field.path) : misfitOf('type', field.path, type))
    } else if (type !== 'null' && (field.isInstant || (field.words ?? field.place ?? field.elements)))
      checked.push({ name, field })
  }
  return { names: Object.keys(value), codes: Object.values(value).map(codeOf), misfits, checked }
}

const DOT = 46

/** `2026-07-11T00:00:00.0000000Z`: a fraction whose fourth digit is there. */
const isFinerThanMs = (text: string): boolean =>
  text.charCodeAt(19) === DOT && text.charCodeAt(23) >= 48 && text.charCodeAt(23) <= 57
