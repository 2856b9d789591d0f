import { connect } from 'node:net'
import pg from 'pg'
import { describe, expect } from 'vitest'
import { endServiceKey, grantServicePrivileges, readServiceKeys } from '../../src/app/service-accounts.ts'
import { createLog } from '../../src/base/log.ts'
import { startService } from '../../src/service/server.ts'
import { test as withDatabase } from '../support/fixtures.ts'
import { accountAuth, call, registerProfile, type ServiceWorld, stepsLog, test, withService } from './service-world.ts'

const log = createLog({ level: 'silent' })

describe('the routes for operators', () => {
  test('/health answers up and /ready answers ready', async ({ world }) => {
    expect((await call(world, '/health')).json).toEqual({ status: 'up' })
    expect((await call(world, '/ready')).json).toEqual({ status: 'ready' })
  })

  test('the document is OpenAPI 3.1 and whole', async ({ world }) => {
    expect(world.document.openapi).toMatch(/^3\.1\./)
    const ids = Object.values(world.document.paths).flatMap((methods) =>
      Object.values(methods).map((method) => method.operationId),
    )
    expect(new Set(ids).size).toBe(28)
  })

  test('the document has no bounds that say nothing, and states the range of a query without ends', async ({
    world,
  }) => {
    const text = JSON.stringify(world.document)
    expect(text).not.toContain(String(Number.MIN_SAFE_INTEGER))
    expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER))
    expect(text).toContain('"expiresIn":{"type":"integer","minimum":1,"maximum":86400}')
    const operation = JSON.stringify(world.document.paths['/api/v1/profile/score']?.['get'])
    expect(operation).toContain('absent: the window has no end here, and the first record is in it')
  })

  test('the reference page needs nothing from elsewhere', async ({ world }) => {
    const page = (await call(world, '/docs')).text

    for (const path of Object.keys(world.document.paths)) expect(page).toContain(path.replaceAll('&', '&amp;'))
    expect(page).not.toMatch(/(src|href)="(https?:)?\/\/|@import|url\(/)
  })

  test('metrics count requests by operation, and hold no name and no token', async ({ world }) => {
    const person = await registerProfile(world)
    await call(world, `/api/v1/profile/score/${person.externalId}`, { auth: person.account })
    const { text } = await call(world, '/metrics')

    expect(text).toMatch(/vitalsync_service_requests_total\{operation="scoresOf",status="204"\} \d+/)
    expect(text).not.toContain(person.externalId)
    expect(text).not.toContain(person.account.split(' ')[1])
  })

  test('a request keeps the id it came with, or is given one', async ({ world }) => {
    const given = await call(world, '/health', { headers: { 'x-request-id': 'abc-123' } })
    const odd = await call(world, '/health', { headers: { 'x-request-id': 'a b "c"' } })

    expect(given.headers.get('x-request-id')).toBe('abc-123')
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('the log holds no token, no secret, no externalId and no value', async ({ world, inside }) => {
    const person = await registerProfile(world)
    await call(world, '/api/v1/profile/data/log', {
      method: 'POST',
      auth: person.auth,
      body: [stepsLog({ value: 987123 })],
    })
    await call(world, '/api/v1/profile/data/log', {
      method: 'POST',
      auth: person.auth,
      body: [stepsLog({ value: '987123' })],
    })
    await call(world, `/api/v1/profile/score/${person.externalId}?types=sleep`, { auth: person.account })
    await call(world, `/api/v1/profile/tag/${person.externalId}`, { auth: person.auth })

    const lines = inside.log.join('\n')
    expect(lines).toContain('"operation":"uploadLogs"')
    const secrets = [person.auth, person.account].map((auth) => auth.split(' ')[1] ?? '')
    for (const secret of [
      ...secrets,
      person.refreshToken,
      world.clientSecret,
      world.appSecret,
      person.externalId,
      '987123',
    ]) {
      expect(lines).not.toContain(secret)
    }
  })
})

describe('secrets', () => {
  test('stand in no table, only their hashes do', async ({ world, inside }) => {
    const person = await registerProfile(world)
    const { rows } = await inside.sql.query(
      `select table_name from information_schema.tables where table_schema = 'service' and table_type = 'BASE TABLE'`,
    )
    const secrets = [person.auth, person.account].map((auth) => auth.split(' ')[1] ?? '')
    for (const { table_name } of rows) {
      const content = JSON.stringify((await inside.sql.query(`select t::text from service.${table_name} t`)).rows)
      for (const secret of [...secrets, person.refreshToken, world.clientSecret, world.appSecret]) {
        expect(content, table_name).not.toContain(secret)
        expect(content, table_name).not.toContain(Buffer.from(secret).toString('hex'))
      }
    }
  })
})

const limited =
  (limits: Parameters<typeof withService>[1], use: (world: ServiceWorld) => Promise<void>) => (databaseUrl: string) =>
    withService(databaseUrl, limits, use)

describe('limits', () => {
  withDatabase('a token over the rate limit gets Retry-After, and other tokens do not', async ({ serviceUrl }) => {
    await limited({ tokenRequestsPerMinute: 5 }, async (world) => {
      const [ada, bob] = [await registerProfile(world), await registerProfile(world)]
      const ask = (auth: string) => call(world, '/api/v1/profile/score', { auth })
      const answers = []
      for (let at = 0; at < 6; at += 1) answers.push(await ask(ada.auth))

      expect(answers.map((answer) => answer.status)).toEqual([204, 204, 204, 204, 204, 429])
      expect(Number(answers[5]?.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(answers[5]?.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      expect((await ask(bob.auth)).status).toBe(204)
    })(serviceUrl)
  })

  withDatabase('a request that trickles in is ended with 408', async ({ serviceUrl }) => {
    await limited({ requestTimeoutMs: 300 }, async (world) => {
      const { auth } = await registerProfile(world)
      const half = `POST /api/v1/profile/data/log HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[`

      const starts = ['GET /health HTTP/1.1\r\nHost', half]
      for (const start of starts) {
        const heard = await hear(world, start)
        expect(heard).toMatch(/^HTTP\/1\.1 408 /)
        expect(JSON.parse(heard.split('\r\n\r\n')[1] ?? '')).toMatchObject({ statusCode: 408 })
      }
      expect((await call(world, '/health')).status).toBe(200)
    })(serviceUrl)
  })
})

function hear(world: ServiceWorld, bytes: string): Promise<string> {
  const { hostname, port } = new URL(world.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let heard = ''
    socket.on('data', (chunk) => {
      heard += chunk.toString()
    })
    socket.once('close', () => resolve(heard))
    socket.once('error', reject)
  })
}

describe('several processes', () => {
  withDatabase('hear of each other’s revocations', async ({ serviceUrl }) => {
    await limited({}, async (limitedWorld) => {
      const second = await startService({ databaseUrl: serviceUrl, port: 0, log })
      try {
        const two = { ...limitedWorld, url: second.url }
        const person = await registerProfile(limitedWorld)
        const ask = (world: ServiceWorld) => call(world, '/api/v1/profile/score', { auth: person.auth })
        expect([(await ask(limitedWorld)).status, (await ask(two)).status]).toEqual([204, 204])

        const body = { externalIds: [person.externalId] }
        await call(limitedWorld, '/api/v1/profile', { method: 'DELETE', auth: person.account, body })

        expect((await ask(limitedWorld)).status).toBe(401)
        await expect.poll(async () => (await ask(two)).status).toBe(401)
      } finally {
        await second.close()
      }
    })(serviceUrl)
  })

  withDatabase('that cannot hear the database remember no token', async ({ serviceUrl }) => {
    await limited({}, async (world) => {
      const person = await registerProfile(world)
      const ask = async () => (await call(world, '/api/v1/profile/score', { auth: person.auth })).status
      const sql = async (text: string) => world.inside?.sql.query(text)
      await sql('select 1')
      // Background work may hold a connection: enough of them are open before new ones are refused.
      expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual([204, 204, 204, 204])
      await admitNobody(serviceUrl) // open connections stay, but the LISTEN connection cannot come back
      await sql(`select pg_terminate_backend(pid) from pg_stat_activity
                 where application_name = 'vitalsync revocations' and datname = current_database()`)
      await expect.poll(() => world.inside?.log.join('')).toContain('lost the LISTEN connection for revocations')
      expect([await ask(), await ask()]).toEqual([204, 204])

      await sql('update service.tokens set revoked_at = now()')

      expect(await ask()).toBe(401)
    })(serviceUrl)
  })
})

/** Refuses new connections to a database; open connections stay. */
async function admitNobody(databaseUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: Object.assign(new URL(databaseUrl), { pathname: '/postgres' }).href })
  await admin.connect()
  await admin.query(`alter database ${new URL(databaseUrl).pathname.slice(1)} allow_connections false`)
  await admin.end()
}

describe('keys', () => {
  withDatabase('are listed without their secrets, and end with all their tokens', async ({ serviceUrl }) => {
    await limited({}, async (world) => {
      const command = { databaseUrl: serviceUrl, nowAt: new Date(), log }
      const keys = await readServiceKeys(command)
      expect(keys).toHaveLength(4)
      expect(JSON.stringify(keys)).not.toContain(world.clientSecret)
      const auth = await accountAuth(world)
      const search = () => call(world, '/api/v1/account/profile/search', { auth })
      expect((await search()).status).toBe(200)

      await endServiceKey(command, world.clientId)

      await expect.poll(async () => (await search()).status).toBe(401)
      const { clientId, clientSecret } = world
      const body = { clientId, clientSecret }
      expect((await call(world, '/api/v1/oauth/account/token', { method: 'POST', body })).status).toBe(401)
      await expect(endServiceKey(command, world.clientId)).rejects.toThrow('no such key')
    })(serviceUrl)
  })
})

describe('without its database', () => {
  withDatabase('it answers 503 and lives, and works again when it is back', async ({ serviceUrl }) => {
    await limited({}, async (world) => {
      const person = await registerProfile(world)
      const name = new URL(serviceUrl).pathname.slice(1)
      const adminUrl = Object.assign(new URL(serviceUrl), { pathname: '/postgres' }).href
      const admin = new pg.Client({ connectionString: adminUrl })
      await admin.connect()
      try {
        await world.inside?.sql.end()
        await admitNobody(serviceUrl)
        await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
        const ask = () => call(world, '/api/v1/profile/demographic', { auth: person.auth })
        await expect.poll(async () => (await ask()).status).toBe(503)
        expect(Number((await ask()).headers.get('retry-after'))).toBeGreaterThan(0)
        expect((await call(world, '/ready')).status).toBe(503)
        expect((await call(world, '/health')).status).toBe(200)

        await admin.query(`alter database ${name} allow_connections true`)

        await expect.poll(async () => (await ask()).status).toBe(204)
        expect((await call(world, '/ready')).status).toBe(200)
      } finally {
        await admin.query(`alter database ${name} allow_connections true`)
        await admin.end()
      }
    })(serviceUrl).catch((error: Error) => {
      // The world ends its own connection once more when it closes.
      if (!/end on pool more than once/.test(error.message)) throw error
    })
  })
})

describe('stopping', () => {
  withDatabase('answers what is in flight and refuses what is new', async ({ serviceUrl }) => {
    const service = await startService({ databaseUrl: serviceUrl, port: 0, log })
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    const heard: string[] = []
    socket.on('data', (chunk) => heard.push(chunk.toString()))
    const ended = new Promise((resolve) => socket.once('close', resolve))
    const body = '{"clientId":"a","clientSecret":"b"}'
    const head = `POST /api/v1/oauth/account/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    socket.write(head)
    socket.write(body.slice(0, 5))
    await fetch(`${service.url}/health`)

    const stoppingAt = performance.now()
    const closed = service.close()
    socket.write(body.slice(5))

    await closed
    await ended
    expect(performance.now() - stoppingAt).toBeLessThan(8_000) // ten seconds is when it would give up waiting
    expect(heard.join('')).toMatch(/^HTTP\/1\.1 (401|503) /)
    await expect(fetch(`${service.url}/health`)).rejects.toThrow()
  })

  withDatabase('twice is stopping once', async ({ serviceUrl }) => {
    const service = await startService({ databaseUrl: serviceUrl, port: 0, log })

    await Promise.all([service.close(), service.close()])
  })

  withDatabase('a port in use is an error that names it, and leaves nothing open', async ({ serviceUrl }) => {
    const service = await startService({ databaseUrl: serviceUrl, port: 0, log })
    try {
      const port = Number(new URL(service.url).port)
      await expect(startService({ databaseUrl: serviceUrl, port, log })).rejects.toThrow(/EADDRINUSE/)
    } finally {
      await service.close()
    }
  })
})

describe('a role with few rights', () => {
  withDatabase('serves everything and can do nothing else', async ({ serviceUrl }) => {
    const role = `service_run_${Date.now().toString(36)}`
    const owner = new pg.Client({ connectionString: serviceUrl })
    await owner.connect()
    try {
      await owner.query(`create role ${role} login password 'test'`)
      await owner.query('create schema elsewhere; create table elsewhere.secret (x int)')
      await grantServicePrivileges({ databaseUrl: serviceUrl, nowAt: new Date(), log }, role)
      const url = Object.assign(new URL(serviceUrl), { username: role, password: 'test' }).href

      await limited({}, async (full) => {
        const service = await startService({ databaseUrl: url, port: 0, log })
        try {
          await everyOperation({ ...full, url: service.url })
        } finally {
          await service.close()
        }
      })(serviceUrl)

      const limitedClient = new pg.Client({ connectionString: url })
      await limitedClient.connect()
      const forbidden = [
        'create table service.x (a int)',
        'alter table service.profiles add column x int',
        'drop table service.logs',
        'truncate service.logs',
        `insert into service.accounts values (gen_random_uuid(), 'x', now())`,
        `update service.api_keys set revoked_at = null`,
        `insert into service.api_keys select 'x', account_id, 'client', 'x', '', now() from service.accounts`,
        'delete from service.api_keys',
        'select * from service.migrations',
        'select * from elsewhere.secret',
        'create schema mine',
      ]
      for (const statement of forbidden) {
        await expect(limitedClient.query(statement), statement).rejects.toThrow(/permission denied|must be owner/)
      }
      await limitedClient.end()
    } finally {
      await owner.query(`drop owned by ${role}; drop role ${role}`)
      await owner.end()
    }
  })
})

async function everyOperation(world: ServiceWorld): Promise<void> {
  const person = await registerProfile(world)
  const callOwn = async (method: string, path: string, body?: unknown) =>
    call(world, `/api/v1/profile/${path}`, { method, auth: person.auth, ...(body === undefined ? {} : { body }) })
  const statuses = [
    await callOwn('POST', 'data/log', [stepsLog(), stepsLog()]),
    await callOwn('POST', 'tag', { type: 'event', name: 'a', source: 'b', startDateTime: '2026-07-11' }),
    await callOwn('GET', 'tag'),
    await callOwn('PUT', 'demographic', { age: 5 }),
    await callOwn('PATCH', 'demographic', { age: 6 }),
    await callOwn('GET', 'demographic'),
    await callOwn('PUT', 'deviceInformation', {
      sdkId: 'a',
      sdkVersion: '1',
      appId: 'a',
      deviceType: 'phone',
      deviceModel: 'm',
      system: 's',
      systemVersion: '1',
    }),
    await callOwn('GET', 'score'),
    await call(world, `/api/v1/profile/score/${person.externalId}`, { auth: person.account }),
    await call(world, '/api/v1/account/profile/search', { auth: person.account }),
    await call(world, '/api/v1/oauth/profile/refreshToken', {
      method: 'POST',
      auth: person.auth,
      body: { refreshToken: person.refreshToken },
    }),
    await call(world, '/api/v1/oauth/profile/refreshToken', {
      method: 'POST',
      auth: person.auth,
      body: { refreshToken: person.refreshToken },
    }),
    await call(world, '/api/v1/profile', { method: 'DELETE', auth: person.account, body: [person.externalId] }),
  ].map((answer) => answer.status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 204, 204, 200, 200, 401, 204])
}
