import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { type OperationName, operations } from '../../../src/base/contract/operations.ts'
import { Unanswered } from '../../../src/base/errors.ts'
import type { UpstreamApi } from '../../../src/pipeline/upstream/api.ts'
import { http, startRawServer } from '../../support/raw-server.ts'
import { ada, nightlyCall, openTestUpstream } from '../../support/test-upstream.ts'
import { pushBy } from './client-driver.ts'

const record = '{"type":"x","name":"x","category":"score","value":"1","data":[]}'
const dated = record.replace(
  '}',
  ',"scoreDateTime":"2026-03-03T00:00:00Z","startDateTime":"2026-03-03T00:00:00Z","endDateTime":"2026-03-04T00:00:00Z",' +
    '"trendStartDateTime":"2026-03-03T00:00:00Z","trendEndDateTime":"2026-03-04T00:00:00Z"}',
)
const page = '{"items":[{"externalId":"ada"}],"currentPage":1,"totalPages":1}'
const token = '{"accountToken":"t","profileToken":"p","refreshToken":"r","expiresIn":86400}'

/** The columns of the table: the operations that it speaks of, and JSON of their shape. */
const columns = {
  'a list': { shape: `[${dated}]`, names: listOperations() },
  'an object': { shape: '{"age":35,"deviceType":"watch"}', names: ['demographic', 'deviceInformation'] },
  'a profile': { shape: '{"externalId":"ada"}', names: ['profile'] },
  'a search': { shape: page, names: ['searchProfiles'] },
  'a token, a registration': { shape: token, names: ['accountToken', 'register', 'profileToken', 'refreshToken'] },
  'an erasure': { shape: '{}', names: ['deleteProfiles'] },
  'a push of logs': { shape: '{"received":1}', names: ['uploadLogs'] },
  'another push': { shape: '[{"id":"a"}]', names: pushOperations() },
} satisfies Record<string, { shape: string; names: readonly OperationName[] }>

function listOperations(): OperationName[] {
  const kinds = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags'] as const
  return kinds.flatMap((kind) => [kind, `${kind}Of` as const])
}

function pushOperations(): OperationName[] {
  return ['uploadTags', 'uploadTagsOf', 'replaceDemographic', 'updateDemographic', 'updateDeviceInformation']
}

/** The rows of the table: the answers, as upstream would write them. */
const answers: Record<string, (shape: string) => string> = {
  '200, JSON of its shape': (shape) => http(200, shape),
  '200, `[]`': () => http(200, '[]'),
  '200, `{}`': () => http(200, '{}'),
  '200, `null`, a number or a text': () => http(200, 'null'),
  '200, empty': () => http(200),
  '200, white space': () => http(200, ' \r\n\t '.repeat(200)),
  '200, a page': () => http(200, '<html> <body> </body> </html>'),
  '200, the body of an error': () => http(200, '{"title":"Down","statusCode":500,"errors":[]}'),
  '200, JSON that breaks off': (shape) => http(200, shape.slice(0, -1)),
  '201, JSON of its shape': (shape) => http(201, shape),
  '202, empty': () => http(202),
  '203, JSON of its shape': (shape) => http(203, shape),
  '204, empty': () => 'HTTP/1.1 204 No Content\r\n\r\n',
  '205, empty': () => http(205),
  '206, JSON of its shape': (shape) => http(206, shape),
  '304, where no tag was sent': () => http(304),
}

/** The client's reading of an answer, in the words of the table. */
async function meaningOf(api: UpstreamApi, name: OperationName): Promise<string> {
  try {
    return await meanings(api, name)
  } catch (error) {
    return error instanceof Unanswered ? 'no answer' : String(error)
  }
}

async function meanings(api: UpstreamApi, name: OperationName): Promise<string> {
  const operation = operations[name]
  switch (name) {
    case 'accountToken':
      return (await api.accountToken(nightlyCall)).accountToken && 'the token'
    case 'register':
      return (await api.register('ada', nightlyCall)).profileToken && 'the token'
    case 'profileToken':
      return (await api.profileToken({ externalId: 'ada' }, nightlyCall)).profileToken && 'the token'
    case 'refreshToken':
      return (await api.refreshToken({ profileToken: 'p', refreshToken: 'r' }, nightlyCall)).profileToken && 'the token'
    case 'profile':
      return (await api.profile('ada', nightlyCall)).externalId && 'the profile'
    case 'searchProfiles': {
      const found = await api.searchProfiles({ currentPage: 1, pageSize: 1 }, nightlyCall)
      return found.items.length > 0 ? 'the page' : 'nothing'
    }
    case 'deleteProfiles':
      await api.deleteProfiles(['ada'], nightlyCall)
      return 'erased'
    case 'uploadLogs':
    case 'uploadTags':
    case 'uploadTagsOf':
      await pushBy(name, api, { profile: ada, body: [{ id: 'a' }] })
      return 'accepted'
    case 'replaceDemographic':
    case 'updateDemographic':
    case 'updateDeviceInformation':
      await pushBy(name, api, { profile: ada, body: { age: 3 } })
      return 'accepted'
    default: {
      const stream = pulledStreams.find((pulledStream) =>
        pulledStream.operation.path.startsWith(operation.path.replace(/\/\{.*/, '')),
      )
      if (stream === undefined) throw new Error(`no stream is read by ${name}`)
      const { records, invalid } = await api.read({ ...stream, operation }, ada, nightlyCall)
      if (records.length + invalid.length === 0) return 'nothing'
      return stream.kind === 'snapshot' ? 'the record' : 'the records'
    }
  }
}

/** Asks one operation with each answer in turn. All other operations get the tokens that they need. */
async function columnOf(name: OperationName, shape: string): Promise<string[]> {
  let answer = ''
  const server = await startRawServer(({ head, socket }) => {
    const isToken = /\/oauth\/(account|profile)\/token/.test(head)
    const isAsked = head.startsWith(
      `${operations[name].method} ${operations[name].path.replace('{externalId}', 'ada')}`,
    )
    socket.write(isToken && !isAsked ? http(200, token) : answer)
  })
  const opened = openTestUpstream({ url: server.url, sleep: async () => undefined })
  onTestFinished(async () => {
    await opened.close()
    await server.close()
  })
  const found: string[] = []
  for (const answerTo of Object.values(answers)) {
    answer = answerTo(shape)
    found.push(await meaningOf(opened.upstream.api, name))
  }
  return found
}

test('every operation takes every answer for what the table in the documentation says, and no other', async () => {
  const text = await readFile(new URL('../../../docs/reference/upstream.md', import.meta.url), 'utf8')
  const table = (text.slice(text.indexOf('| answer to')).split('\n\n')[0] ?? '')
    .split('\n')
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
  const [heads = [], , ...rows] = table

  expect(heads.slice(1)).toEqual(Object.keys(columns))
  expect(rows.map(([answer]) => answer)).toEqual(Object.keys(answers))
  const spoken = Object.values(columns).flatMap(({ names }) => names)
  // The one operation that the client lacks needs the credentials of an app.
  expect(Object.keys(operations).filter((name) => !spoken.some((operation) => operation === name))).toEqual([
    'registerByApp',
  ])
  await Promise.all(
    Object.values(columns).flatMap(({ shape, names }, column) =>
      names.map(async (name) => {
        const expected = rows.map((cells) => cells[column + 1])
        expect(await columnOf(name, shape), name).toEqual(expected)
      }),
    ),
  )
})
