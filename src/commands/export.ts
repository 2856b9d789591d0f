import { once } from 'node:events'
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { streams } from '../../config/streams.ts'
import { UsageProblem } from '../errors.ts'
import {
  type Bookmark,
  createCsv,
  createNdjson,
  type Encoder,
  type ExportFormat,
  type State,
} from '../export/format.ts'
import { createParquet } from '../export/parquet.ts'
import { createSinger } from '../export/singer.ts'
import type { PulledStream } from '../stream.ts'
import { columnsOfView, extractRows, overlapBefore, readNow } from '../warehouse/extract.ts'
import type { Pool } from '../warehouse/pool.ts'
import type { CommandContext } from './engines.ts'
import { withWarehouse } from './open.ts'
import { number } from './terminal.ts'

export type ExportOptions = CommandContext & {
  readonly streams: readonly string[]
  readonly format: ExportFormat
  readonly since: Date | undefined
  /** Absent: standard output. */
  readonly output: string | undefined
  readonly state: string | undefined
}

const encoders: Readonly<Record<ExportFormat, () => Encoder>> = {
  ndjson: createNdjson,
  csv: createCsv,
  parquet: createParquet,
  singer: createSinger,
}

type Written = { stream: string; rows: number }
type Result = { streams: Written[]; since: string | undefined; upto: string }

/** Streams from the warehouse's public views into a file or a pipe. With a state file it goes on where it was. */
export async function exportStreams(options: ExportOptions): Promise<number> {
  const { terminal, format, output, signal } = options
  const chosen = streams.filter(({ name }) => options.streams.includes(name))
  refuse(options, chosen)
  const before = await readState(options)
  const result = await withWarehouse(options, async (pool) => {
    const carriedOn = chosen.some(({ name }) => before.bookmarks[name]?.after !== undefined)
    const out = output === undefined ? toPipe() : await toFile(output, { format, keep: carriedOn ? before.bytes : 0 })
    try {
      const written = await writeAll({ ...options, pool, chosen, out }, before)
      await out.finish(!signal.aborted)
      return written
    } catch (error) {
      await out.finish(false)
      throw error
    } finally {
      terminal.progressEnd()
    }
  })
  report(options, result)
  return signal.aborted ? 1 : 0
}

function refuse({ format, output, state }: ExportOptions, chosen: readonly PulledStream[]): void {
  if (chosen.length === 0) throw new UsageProblem('export: no stream', { hint: 'Name it: --stream scores.' })
  if (chosen.length > 1 && format !== 'singer')
    throw new UsageProblem(`export: ${format} takes one stream`, { hint: 'Only singer takes several at once.' })
  if (format === 'parquet' && output === undefined && process.stdout.isTTY)
    throw new UsageProblem('export: parquet is not for a terminal', { hint: 'Write it to a file: --output x.parquet.' })
  if (format === 'singer' && output !== undefined && state !== undefined)
    throw new UsageProblem('export: a singer export to a file keeps its state in the file', {
      hint: 'Pipe it into a target, and give the last STATE that the target says back with --state.',
    })
}

function report({ terminal, format, output, signal }: ExportOptions, { streams: written, since, upto }: Result): void {
  const summary = { streams: written, format, output: output ?? '-', since: since ?? null, upto }
  const sentence = `${written.map(({ stream, rows }) => `${number(rows)} rows of ${stream}`).join(', ')} exported`
  const text = terminal.json
    ? JSON.stringify(summary)
    : `${sentence}${signal.aborted ? ', stopped before the end' : ''}`
  // Where the data goes to standard output, nothing else may.
  if (output === undefined) terminal.say(text)
  else terminal.print(text)
}

type Writing = ExportOptions & { pool: Pool; chosen: readonly PulledStream[]; out: Out }
type Saved = State & { bytes: number }

async function writeAll(writing: Writing, before: Saved): Promise<Result> {
  const { pool, chosen, signal, format } = writing
  let state: State = { bookmarks: before.bookmarks }
  const written: Written[] = []
  const now = await readNow(pool)
  let since: string | undefined
  for (const stream of chosen) {
    if (signal.aborted) break
    const known = before.bookmarks[stream.name] ?? {}
    const underWay = known.after !== undefined && known.upto !== undefined && format !== 'parquet'
    const begin: Bookmark & { upto: string } = {
      since: underWay ? known.since : (writing.since?.toISOString() ?? known.since),
      upto: underWay && known.upto ? known.upto : now,
      after: underWay ? known.after : '0',
    }
    since = begin.since
    const save = async (bookmark: Bookmark, encoder: Encoder) => {
      state = { bookmarks: { ...state.bookmarks, [stream.name]: bookmark } }
      await writing.out.write(encoder.state(state))
      if (format !== 'singer') await saveState(writing.state, { ...state, bytes: writing.out.bytes() })
    }
    written.push({ stream: stream.name, rows: await writeStream({ ...writing, stream, begin, save, underWay }) })
  }
  return { streams: written, since, upto: now }
}

type WritingStream = Writing & {
  stream: PulledStream
  begin: Bookmark & { upto: string }
  underWay: boolean
  save(bookmark: Bookmark, encoder: Encoder): Promise<void>
}

async function writeStream(writing: WritingStream): Promise<number> {
  const { pool, stream, begin, out, signal, terminal, save } = writing
  const { since, upto } = begin
  const columns = await columnsOfView(pool, stream)
  const encoder = encoders[writing.format]()
  const head = encoder.head(stream.name, columns)
  if (!writing.underWay || writing.format === 'singer') await out.write(head)
  let count = 0
  for await (const page of extractRows(pool, { stream, columns, since, upto, afterId: begin.after ?? '0' })) {
    if (page.rows.length > 0) await out.write(encoder.rows(page.rows))
    count += page.rows.length
    terminal.progress(`${stream.name}: ${number(count)} rows`)
    if (page.afterId === undefined) continue
    await save({ since, upto, after: page.afterId }, encoder)
    if (signal.aborted) return count
  }
  await out.write(encoder.tail())
  await save({ since: overlapBefore(upto) }, encoder)
  return count
}

type Out = {
  write(chunk: string | Uint8Array): Promise<void>
  bytes(): number
  finish(whole: boolean): Promise<void>
}

function toPipe(): Out {
  let bytes = 0
  return {
    bytes: () => bytes,
    async write(chunk) {
      if (chunk.length === 0) return
      bytes += Buffer.byteLength(chunk)
      // A slow reader holds us up, it does not fill our memory.
      if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
    },
    finish: async () => undefined,
  }
}

/** Parquet is no file before its end, so it is written beside its place and moved there when it is whole. */
async function toFile(path: string, { format, keep }: { format: ExportFormat; keep: number }): Promise<Out> {
  const place = format === 'parquet' ? `${path}.partial` : path
  const handle: FileHandle = await open(place, keep > 0 ? 'r+' : 'w').catch((cause: Error) => {
    throw new UsageProblem(`write ${place}: ${cause.message}`, { hint: 'Choose another file with --output.', cause })
  })
  await handle.truncate(keep)
  let bytes = keep
  return {
    bytes: () => bytes,
    async write(chunk) {
      if (chunk.length === 0) return
      const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      await handle.write(buffer, 0, buffer.length, bytes)
      bytes += buffer.length
    },
    async finish(whole) {
      await handle.close()
      if (place === path) return
      if (whole) await rename(place, path)
      else await rm(place, { force: true })
    },
  }
}

const bookmarkSchema = z.object({
  since: z.string().optional(),
  upto: z.string().optional(),
  after: z.string().regex(/^\d+$/).optional(),
})
/** Ours, or the last line of what a Singer target said. */
const stateSchema = z.object({ bookmarks: z.record(z.string(), bookmarkSchema), bytes: z.int().default(0) })

async function readState({ state: path, output }: ExportOptions): Promise<Saved> {
  const none = { bookmarks: {}, bytes: 0 }
  if (path === undefined) return none
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new UsageProblem(`read state ${path}: ${error.message}`, {
      hint: 'Give a file this user may read and write.',
    })
  })
  if (text === undefined || text.trim() === '') return none
  const saved = stateSchema.safeParse(parsed(text.trim().split('\n').at(-1) ?? ''))
  if (!saved.success) {
    throw new UsageProblem(`read state ${path}: it is no state of an export`, {
      hint: 'Take it away to begin anew, or give the one that the last export wrote.',
    })
  }
  return output === undefined ? { ...saved.data, bytes: 0 } : saved.data
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function saveState(path: string | undefined, saved: Saved): Promise<void> {
  if (path === undefined) return
  await writeFile(`${path}.new`, `${JSON.stringify(saved)}\n`)
  await rename(`${path}.new`, path)
}
