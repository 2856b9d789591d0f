import { createHmac, randomBytes, randomInt } from 'node:crypto'
import { z } from 'zod'
import { pulledStreams } from '../../../config/streams.ts'
import { operations } from '../../base/contract/operations.ts'
import { UsageProblem } from '../../base/errors.ts'
import { isJsonObject } from '../../base/text/json.ts'
import { DAY } from '../../base/time/units.ts'
import { foldedName } from '../../pipeline/transfer/misfits.ts'
import type { PulledStream } from '../../pipeline/transfer/stream.ts'
import { isPersonal, knownRecordsOf } from './known-records.ts'

const BASE = 'http://upstream.invalid'
const textPart = z.object({ text: z.string().optional(), encoding: z.string().optional() })
const header = z.object({ name: z.string(), value: z.string() })

/** The parts of a recorded session (HTTP Archive 1.2) that are read. Everything else in the file is left out. */
const harSchema = z.object({
  log: z.object({
    entries: z
      .array(
        z.object({
          request: z.object({
            method: z.string(),
            url: z.string().refine((url) => URL.canParse(url, BASE)),
            postData: textPart.optional(),
          }),
          response: z.object({ status: z.int(), headers: z.array(header).default([]), content: textPart.default({}) }),
        }),
      )
      .max(10_000),
  }),
})

export type Har = z.infer<typeof harSchema>

export const HAR_BYTES_MAX = 64 * 1024 * 1024

export function parseHar(text: string, action: string): Har {
  const hint = 'Save the session as HAR from the browser or a proxy: at most 64 MB and 10,000 requests.'
  try {
    return harSchema.parse(JSON.parse(text))
  } catch {
    throw new UsageProblem(`${action}: the file is no HTTP archive`, { hint }) // the cause may quote the file
  }
}

/** The fields of derived records whose words are kept, where the specification has them. */
const wordFields = [
  'type',
  'name',
  'category',
  'periodicity',
  'aggregation',
  'unit',
  'valueType',
  'dataType',
  'dataSources',
]
type ClosedWords = Map<string, Set<string>>

/** By field, the words of the closed lists of a stream. */
function closedWordsOf(stream: PulledStream): ClosedWords {
  const closed: ClosedWords = new Map()
  collectWords(closed, z.toJSONSchema(knownRecordsOf(stream).schema, { unrepresentable: 'any', io: 'input' }), '')
  return closed
}

const readableStreams = pulledStreams.map((stream) => ({
  path: new RegExp(`${stream.operation.path.replace('/{externalId}', '(/|$)')}`),
  closed: closedWordsOf(stream),
  units: (knownRecordsOf(stream).kinds ?? []).flatMap(({ units }) => Object.entries(units).flat()),
  isPersonal: isPersonal(stream),
}))
type ReadableStream = (typeof readableStreams)[number]

const keptWords = new Set(
  readableStreams.flatMap(({ closed, units, isPersonal: personal }) => {
    const lists = personal ? [] : wordFields.flatMap((field) => [...(closed.get(field) ?? [])])
    return [...lists, ...units]
  }),
)

function collectWords(closed: ClosedWords, part: unknown, field: string): void {
  if (!isJsonObject(part)) return
  const { properties, items, anyOf, enum: words, const: word } = part
  const list = [...(Array.isArray(words) ? words : []), word].filter((text) => typeof text === 'string')
  if (list.length > 0) closed.set(field, new Set([...(closed.get(field) ?? []), ...list]))
  if (isJsonObject(properties))
    for (const [name, inner] of Object.entries(properties)) collectWords(closed, inner, name)
  collectWords(closed, items, field)
  for (const form of Array.isArray(anyOf) ? anyOf : []) collectWords(closed, form, field)
}

/** The parts of the paths of the interface. Every other part of a path names somebody. */
const pathParts = new Set(
  Object.values(operations).flatMap(({ path }) => path.split('/').filter((part) => !part.startsWith('{'))),
)
const LEVELS_MAX = 60
const datePattern = /^(\d{4}-\d{2}-\d{2})($|[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[-+]\d{2}:?\d{2})?$)/

/** Replaces values by others of the same form: equal texts alike, and every date moved by the same number of weeks. */
function createReplacer() {
  const key = randomBytes(32)
  const movedMs = -7 * DAY * randomInt(100, 400)
  const digest = (text: string) => createHmac('sha256', key).update(text).digest('hex')
  /** As many digits before and after the point. */
  const changeDigits = (number: string): string => {
    const bytes = Buffer.from(digest(number), 'hex')
    return number.replaceAll(/\d/g, (_, at: number) => String(((bytes[at % 32] ?? 0) % 9) + 1))
  }
  const changeText = (text: string): string => {
    const [, day, rest = ''] = datePattern.exec(text) ?? []
    const dayMs = day === undefined ? Number.NaN : Date.parse(day)
    if (!Number.isNaN(dayMs)) return `${new Date(dayMs + movedMs).toISOString().slice(0, 10)}${rest}`
    if (/^-?\d+(\.\d+)?$/.test(text)) return changeDigits(text)
    const hex = digest(text)
    return /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)
      ? `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
      : `text-${hex.slice(0, 12)}`
  }
  const changeNumber = (value: number) => Number(changeDigits(value.toFixed(Number.isInteger(value) ? 0 : 4)))
  /** Another word of the list, or the same: a state is a finding, but an unknown word would be a change of the interface. */
  const changeWord = (word: string, list: ReadonlySet<string>) =>
    [...list].at(Number.parseInt(digest(word).slice(0, 8), 16) % list.size) ?? word
  const nameOf = (name: string) =>
    foldedName(name) === '*' ? `field_${digest(name).replaceAll(/\d/g, 'x').slice(0, 8)}` : name
  return { digest, changeText, changeNumber, changeWord, nameOf }
}

type Replacer = ReturnType<typeof createReplacer>

/** A value of a body. `field`: its name. A value that is nested too deeply becomes null. */
function cleanValue(
  replacer: Replacer,
  value: unknown,
  at: { field: string; stream: ReadableStream | undefined; level: number },
): unknown {
  const { field, stream, level } = at
  if (value === null || level > LEVELS_MAX) return null
  if (typeof value === 'boolean') return true
  if (typeof value === 'number') return replacer.changeNumber(value)
  if (typeof value === 'string') {
    if (stream?.isPersonal === false && wordFields.includes(field) && keptWords.has(value)) return value
    const list = stream?.closed.get(field)
    return list?.has(value) ? replacer.changeWord(value, list) : replacer.changeText(value)
  }
  if (Array.isArray(value)) return value.map((part) => cleanValue(replacer, part, { ...at, level: level + 1 }))
  return Object.fromEntries(
    Object.entries(Object(value)).map(([name, part]) => [
      replacer.nameOf(name),
      cleanValue(replacer, part, { field: name, stream, level: level + 1 }),
    ]),
  )
}

/** A body that is no JSON is left out whole. */
function cleanBody(
  replacer: Replacer,
  { text, encoding }: z.infer<typeof textPart>,
  stream: ReadableStream | undefined,
) {
  if (!text) return {}
  try {
    const body: unknown = JSON.parse(encoding === 'base64' ? Buffer.from(text, 'base64').toString('utf8') : text)
    const clean = cleanValue(replacer, body, { field: '', stream, level: 0 })
    return { mimeType: 'application/json', text: JSON.stringify(clean) }
  } catch {
    return {}
  }
}

const isPageNumber = (name: string, value: string) =>
  /^(current|next|total|x-next-|x-total-)?(page|pages|pageSize)$/i.test(name) && /^\d{1,5}$/.test(value)

function cleanUrl({ changeText }: Replacer, text: string): string {
  const url = new URL(text, BASE)
  const parts = url.pathname.split('/').map((part) => (pathParts.has(part) ? part : changeText(part)))
  const query = [...url.searchParams].map(([name, value]): [string, string] => [
    foldedName(name) === '*' ? changeText(name) : name,
    keptWords.has(value) || isPageNumber(name, value) ? value : changeText(value),
  ])
  return `${BASE}${parts.join('/')}${query.length > 0 ? `?${new URLSearchParams(query)}` : ''}`
}

const cleanHeaders = (replacer: Replacer, headers: ReadonlyArray<z.infer<typeof header>>) =>
  headers.flatMap(({ name: given, value }) => {
    const name = given.toLowerCase()
    if (name === 'etag') return [{ name, value: `"${replacer.digest(value).slice(0, 12)}"` }]
    const [, next] = name === 'link' ? (/<([^>]*)>[^,]*\brel="?next\b/i.exec(value) ?? []) : []
    if (next !== undefined && URL.canParse(next, BASE)) {
      const { pathname, search } = new URL(cleanUrl(replacer, next))
      return [{ name, value: `<${pathname}${search}>; rel="next"` }]
    }
    const isKept =
      isPageNumber(name, value) ||
      (name === 'retry-after' && /^\d{1,5}$/.test(value)) ||
      (name === 'derivation-state' && /^(finished|pending)$/.test(value))
    return isKept ? [{ name, value }] : []
  })

/**
 * A recorded session without secrets and values. It is made of nothing but what is harmless: methods, the paths of the interface,
 * statuses, names of fields, words of the specification, and the form of values. Nobody can reverse it, for the key is thrown away.
 */
export function cleanHar(har: Har): object {
  const replacer = createReplacer()
  const common = { httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1, bodySize: -1 }
  const entries = har.log.entries.map(({ request, response }) => {
    const stream = readableStreams.find(({ path }) => path.test(new URL(request.url, BASE).pathname))
    const method = /^(GET|HEAD|POST|PUT|PATCH|DELETE)$/.test(request.method) ? request.method : 'GET'
    const body = (part: z.infer<typeof textPart>) => ({ mimeType: '', ...cleanBody(replacer, part, stream) })
    return {
      startedDateTime: new Date(0).toISOString(),
      time: 0,
      request: {
        ...{ ...common, method, url: cleanUrl(replacer, request.url), headers: [], queryString: [] },
        ...(request.postData?.text ? { postData: body(request.postData) } : {}),
      },
      response: {
        ...{ ...common, status: response.status, statusText: '', redirectURL: '' },
        headers: cleanHeaders(replacer, response.headers),
        content: { size: -1, ...body(response.content) },
      },
      ...{ cache: {}, timings: { send: 0, wait: 0, receive: 0 } },
    }
  })
  return { log: { version: '1.2', creator: { name: 'vitalsync har clean', version: '1' }, entries } }
}
