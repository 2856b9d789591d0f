import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { variables } from '../../config/variables.ts'
import { files, lines } from './sources.ts'

/** Where each fixed limit of the page is declared, as it is written there: who changes it finds the row. */
const declarations: Record<string, readonly [file: string, declaration: string]> = {
  'connections of one process to upstream': ['src/pipeline/upstream/client.ts', 'CONNECTIONS_MAX = 1024'],
  'to connect to upstream': ['src/pipeline/upstream/http.ts', 'connectTimeoutMs: 5 * SECOND'],
  'upstream’s headers': ['src/pipeline/upstream/http.ts', 'headersTimeoutMs: 20 * SECOND'],
  'between two pieces of upstream’s body': ['src/pipeline/upstream/http.ts', 'bodyTimeoutMs: 10 * SECOND'],
  'an answer of upstream as a whole': ['src/pipeline/upstream/http.ts', 'totalTimeoutMs: 60 * SECOND'],
  'size of an answer of upstream': ['src/pipeline/upstream/http.ts', 'bodyBytesMax: 64 * 1024 * 1024'],
  'retries within one request': ['src/pipeline/upstream/sender.ts', 'RETRIES_MAX = 2'],
  'attempts of a sync or back-fill of a person': ['jobs/sync-profile.ts', 'attemptsMax: 6'],
  'items of one request that pushes': ['src/pipeline/transfer/parcel.ts', 'ITEMS_PER_BATCH_MAX = 90'],
  'bytes of one request that pushes': ['src/pipeline/transfer/parcel.ts', 'BATCH_BYTES_MAX = 150 * 1000'],
  'a worker without a sign of life': ['src/pipeline/warehouse/runs/live-workers.ts', 'WORKER_SILENT_MS = 15 * SECOND'],
  'a machine’s clock beside the database’s': ['src/base/time/clock-skew.ts', 'CLOCK_SKEW_MAX_MS = 30 * SECOND'],
  'differences that a verification found': ['src/pipeline/warehouse/retention.ts', 'DIFFERENCES_MAX = 10_000'],
  'columns that users add to a stream': ['src/pipeline/warehouse/added-columns.ts', 'const COLUMNS_MAX = 20'],
  'columns that the table of a stream has had, with those dropped': [
    'src/pipeline/warehouse/added-columns.ts',
    'TABLE_COLUMNS_MAX = 1000',
  ],
  'connections of a worker to the warehouse': ['src/operations/pipeline.ts', 'connectionsMax: 16'],
  'length of a question on the dashboard': ['src/dashboard/routes/question-routes.ts', 'SQL_LENGTH_MAX = 6000'],
  'rows of its answer': ['src/dashboard/routes/question-routes.ts', 'ROWS_MAX = 1000'],
  'bytes of its answer': ['src/dashboard/routes/question-routes.ts', 'BYTES_MAX = 8 * 1024 * 1024'],
  'time of its statement': ['src/dashboard/routes/question-routes.ts', 'TIMEOUT_MS = 20 * SECOND'],
  'questions answered at once': ['src/dashboard/routes/question-routes.ts', 'ANSWERED_AT_ONCE_MAX = 2'],
  'length of a statement of `vitalsync sql`': ['src/app/commands/questions/sql.ts', 'TEXT_CHARACTERS_MAX = 100_000'],
  'sessions of one person on the dashboard': ['src/web/sessions.ts', 'SESSIONS_OF_PERSON_MAX = 20'],
  'a session': ['src/web/sessions.ts', 'SESSION_MS = 12 * HOUR'],
  'entries of a zip': ['src/intake/zip-entries.ts', 'ENTRIES_MAX = 100_000'],
  'size of a zip when unpacked': ['src/intake/zip-entries.ts', 'UNPACKED_BYTES_MAX = 64 * 1024 ** 3'],
  'growth of a zip when unpacked': ['src/intake/zip-entries.ts', 'GROWTH_MAX = 200'],
  'files of a folder': ['src/intake/export-files.ts', 'FILES_MAX = 200_000'],
  'bytes of a line': ['src/intake/formats/split-lines.ts', 'LINE_BYTES_MAX = 1024 * 1024'],
  'size of a database in an export': [
    'src/intake/formats/health-connect/sqlite-tables.ts',
    'DATABASE_BYTES_MAX = 4 * 1024 ** 3',
  ],
  'size of a request, unpacked': ['src/service/http/app.ts', 'bodyBytesMax = 1024 * 1024'],
  'values of a request': ['src/service/http/request-bodies.ts', 'valuesMax = 100_000'],
  'depth of a request': ['src/service/http/request-bodies.ts', 'depthMax = 32'],
  'logs of an upload': ['src/base/contract/data-log.ts', 'logsPerUploadMax = 1000'],
  'tags of an upload': ['src/base/contract/tag.ts', 'tagsPerUploadMax = 1000'],
  'profiles of one deletion': ['src/base/contract/profile.ts', 'profilesDeletedMax = 1000'],
  'profiles of a page': ['src/base/contract/profile.ts', 'pageSizeMax = 100'],
  'a request’s arrival': ['src/service/server.ts', 'requestTimeoutMs: 30 * SECOND'],
  'a token': ['src/base/contract/authentication.ts', 'tokenLifetimeSecondsMax = 86_400'],
  'connections to its database': ['src/service/server.ts', 'connectionsMax = 10'],
  'uploads at once': ['src/service/server.ts', 'concurrentUploads = { concurrentMax: 4, groupMax: 3'],
  'requests in flight when it stops': ['src/service/server.ts', 'drainMs = 10 * SECOND'],
}

const page = readFileSync(files.find((file) => /^docs\/(\w+\/)?limits\.md$/.test(file)) ?? '', 'utf8')
const rows = page
  .replaceAll("'", '’')
  .split('\n')
  .flatMap((line) => {
    const [, limit = '', value = '', , change = ''] = line.split('|').map((cell) => cell.trim())
    return /^(limit|-*|)$/.test(limit) ? [] : [{ limit, value, change: change.replaceAll('`', '') }]
  })

const seconds: Record<string, number> = { s: 1, min: 60, h: 3600, d: 86_400 }
const bytes: Record<string, number> = { kB: 1000, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** `6 h` in seconds, `64 MiB` in bytes, `0.1 %` as a share; other numbers as they are. */
function numberOf(text: string): number {
  const [amount = '', unit = ''] = text.split(' ')
  return Number(amount) * (seconds[unit] ?? bytes[unit] ?? 1)
}

/** The product or power that a constant is declared as. */
function declaredNumber(declaration: string): number {
  const [, text = ''] = /[=:] (?:\{ \w+: )?([\d_ *]+)/.exec(declaration) ?? []
  const unit = { SECOND: 1, HOUR: 3600 }[/\b(SECOND|HOUR)\b/.exec(declaration)?.[1] ?? ''] ?? 1
  const [factors = '', power = '1'] = text.replaceAll('_', '').split('**')
  const numbers = factors.split('*').map((factor) => Number(factor.trim() || 1))
  return (
    numbers.slice(0, -1).reduce((product, factor) => product * factor, (numbers.at(-1) ?? 1) ** Number(power)) * unit
  )
}

/** All sources: a constant may move to another file, and stays the same limit. */
const sources = lines(/^(src|jobs)\/.*\.ts$/)

test('each fixed limit of the page has the value of its constant, which is there', () => {
  const fixed = rows.filter(({ change }) => change === 'fixed')
  for (const { limit, value } of fixed) {
    const [file = '', declaration = ''] = declarations[limit] ?? []
    const declared = sources.filter(({ text }) => text.includes(declaration))

    expect(declared.length, `${limit}: ${file}`).toBeGreaterThan(0)
    expect([limit, numberOf(value)]).toEqual([limit, declaredNumber(declaration)])
  }
  expect(Object.keys(declarations).filter((limit) => !fixed.some((row) => row.limit === limit))).toEqual([])
})

/** Settings with a number that limits nothing. */
const ofNoLimit = /(PORT|HOST)$|^OTEL_/

test('each setting that is a number has its row, with its default', () => {
  const settings = Object.entries(variables).flatMap(([name, variable]) => {
    const { fallback = '' } = variable
    return /^[\d.,]+$/.test(fallback) && !ofNoLimit.test(name) ? [{ name, fallback }] : []
  })
  const rowOf = (name: string) => rows.find(({ change }) => change === name)

  expect(settings.length).toBeGreaterThan(20)
  for (const { name, fallback } of settings) {
    const values = (rowOf(name)?.value ?? '').split(', ').map((value) => shareOrNumber(value, fallback))
    expect([name, values]).toEqual([name, fallback.split(',').map(Number)])
  }
})

test('each row names a setting that exists, or is fixed', () => {
  expect(rows.length).toBeGreaterThan(50)
  expect(rows.filter(({ change }) => change !== 'fixed' && !Object.hasOwn(variables, change))).toEqual([])
})

/** A setting is in seconds, days, MB or per cent; a share below one is shown in per cent. */
function shareOrNumber(value: string, fallback: string): number {
  const number = numberOf(value)
  if (value.endsWith('%') && Number(fallback) < 1) return number / 100
  return value.endsWith(' d') && Number(fallback) < 3600 ? number / 86_400 : number
}
