import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readConfig } from '../../config/env.ts'

const compose = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
/** The value of a variable of docker-compose.yml when nobody sets it. */
const sample = (name: string) => new RegExp(`\\$\\{${name}:-([^}]+)\\}`).exec(compose)?.[1] ?? ''

const samples = {
  TOKEN_KEY: sample('TOKEN_KEY'),
  DATABASE_URL: `postgres://vitalsync:${sample('ENGINE_PASSWORD')}@postgres:5432/vitalsync`,
  QUEUE_URL: `redis://:${sample('ENGINE_PASSWORD')}@redis:6379`,
}
const sandbox = {
  UPSTREAM_URL: 'http://service:8080',
  SANDBOX_SECRET: sample('SANDBOX_SECRET'),
}
const real = { UPSTREAM_URL: 'https://health.example.org', UPSTREAM_CLIENT_ID: 'clinic', UPSTREAM_CLIENT_SECRET: 's' }

test('the samples of docker-compose.yml serve a sandbox', () => {
  expect(() => readConfig({ ...samples, ...sandbox })).not.toThrow()
})

test('each sample secret is refused as soon as upstream is no sandbox, and no secret is printed', () => {
  for (const [name, value] of Object.entries(samples)) {
    expect(() => readConfig({ ...real, [name]: value })).toThrow(new RegExp(`${name} (is|holds) .*sample`))
    expect(() => readConfig({ ...real, [name]: value })).not.toThrow(value)
  }
  const ownSecrets = {
    DATABASE_URL: 'postgres://vitalsync:own@postgres/vitalsync',
    QUEUE_URL: 'redis://:own@redis:6379',
  }
  expect(() => readConfig({ ...real, ...ownSecrets, TOKEN_KEY: Buffer.alloc(32, 5).toString('base64') })).not.toThrow()
})
