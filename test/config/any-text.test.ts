import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeConfig, type Environment, readConfig } from '../../config/env.ts'
import { UsageProblem } from '../../src/base/errors.ts'

const seed = 20261124
const described = describeConfig({})
const names = described.map(({ name }) => name)
const defaults = described.map(({ value }) => value).filter((value) => value !== '')

/** Values that are nearly right: a default or another good value, with a few characters replaced. */
const good = [
  ...defaults,
  'postgres://user:word@db.example:5432/name?sslmode=require',
  'redis://a:6379,b:6379',
  'https://api.example.com/v1',
  'a=b%20c,d=%c3%a4',
  '10.0.0.0/8,loopback,::1',
  'Europe/Berlin',
  'production',
]
const nearly = fc
  .tuple(
    fc.constantFrom(...good),
    fc.array(fc.tuple(fc.nat({ max: 60 }), fc.string({ unit: 'grapheme', maxLength: 2 })), { maxLength: 3 }),
  )
  .map(([text, changes]) =>
    changes.reduce((changed, [at, by]) => changed.slice(0, at) + by + changed.slice(at + 1), text),
  )
const odd = ['', ' ', '%', 'a=%ff', '0', '-1', '1e9', '٣', 'NaN', '[::1', '//', 'postgres://', '\u0000']
const anyValue = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), nearly, fc.constantFrom(...odd))

function refusalOf(environment: Environment): UsageProblem | undefined {
  try {
    readConfig(environment)
    return undefined
  } catch (error) {
    if (error instanceof UsageProblem) return error
    throw error
  }
}

test('whatever the variables hold, they are read or refused by one message with a hint', () => {
  const environment = fc.dictionary(fc.constantFrom(...names), anyValue, { maxKeys: 8 })
  fc.assert(
    fc.property(environment, (values) => {
      const refusal = refusalOf(values)
      if (refusal) expect(refusal.message).toMatch(/^read configuration: /)
      expect(refusal === undefined || refusal.hint !== undefined).toBe(true)
      expect(describeConfig(values).map(({ name }) => name)).toEqual(names)
    }),
    { seed, numRuns: 600 },
  )
})

test.for(names)('%s is read or refused, whatever odd value it has', (name) => {
  for (const value of odd) {
    const message = refusalOf({ [name]: value })?.message
    if (message !== undefined) expect(message, value).toContain(name.replace(/_(URL|ID|SECRET)$/, ''))
  }
})

test('each refused variable is named, whichever others are refused with it', () => {
  const wrong = { PORT: 'x', QUEUE_PARTS: '0', LOG_LEVEL: 'loud', SENTINEL_SHARE: '2', SCHEDULE_TIME_ZONE: 'Berlin' }
  fc.assert(
    fc.property(fc.subarray(Object.entries(wrong), { minLength: 1 }), (some) => {
      const message = refusalOf(Object.fromEntries(some))?.message ?? ''
      for (const name of Object.keys(wrong)) expect(message.includes(name)).toBe(some.some(([one]) => one === name))
    }),
    { seed, numRuns: 40 },
  )
})

const MARKER = 'mArKeR'
/** A password of any characters, with a word in it that is looked for. */
const part = fc.array(
  fc.oneof(fc.constantFrom('@', ':', '/', ',', '?', '#', '%', '&', '=', ' ', '\\'), fc.string({ maxLength: 3 })),
)
const password = fc.tuple(part, part).map(([before, after]) => `${before.join('')}${MARKER}${after.join('')}`)
const passwordIn: Record<string, ReadonlyArray<(word: string) => string>> = {
  DATABASE_URL: [
    (word) => `postgres://user:${word}@db.example:5432/name`,
    (word) => `postgres://db.example/name?user=a&password=${encodeURIComponent(word)}`,
  ],
  // A comma separates the addresses of a Redis Cluster: in a password it must be encoded.
  QUEUE_URL: [
    (word) => `redis://:${word.replaceAll(',', '%2C')}@a.example:6379`,
    (word) => `redis://user:${word.replaceAll(',', '%2C')}@a.example:6379,b.example:6379`,
    (word) => `redis://a.example:6379,user:${word.replaceAll(',', '%2C')}@b.example:6379`,
    (word) => `postgres://user:${word}@db.example/name`,
  ],
  UPSTREAM_URL: [(word) => `https://user:${word}@api.example.com/v1`],
  UPSTREAM_SANDBOX_URL: [(word) => `https://user:${word}@sandbox.example.com`],
  OTEL_EXPORTER_OTLP_ENDPOINT: [(word) => `https://user:${word}@collector.example.com`],
  UPSTREAM_CLIENT_ID: [(word) => word],
  UPSTREAM_CLIENT_SECRET: [(word) => word],
  TOKEN_KEY: [(word) => word],
  OTEL_EXPORTER_OTLP_HEADERS: [(word) => `authorization=${word}`],
}

for (const [name, forms] of Object.entries(passwordIn))
  test(`no part of a secret in ${name} is in a refusal or in a description, whatever its characters`, () => {
    fc.assert(
      fc.property(fc.constantFrom(...forms), password, (form, word) => {
        const environment = { [name]: form(word) }
        const refusal = refusalOf(environment)
        expect(`${refusal?.message} ${refusal?.hint}`).not.toContain(MARKER)
        expect(JSON.stringify(describeConfig(environment))).not.toContain(MARKER)
      }),
      { seed, numRuns: 200 },
    )
  })

test.for([
  ['postgres://user:pa,ss@host/db', 'postgres://user:••••@host/db'],
  ['postgres://user:p@ss@host/db', 'postgres://user:••••@host/db'],
  ['postgres://user:pa/ss@host/db', 'postgres://user:••••@host/db'],
  [
    'postgres://host:5432/db?user=a&password=b&sslmode=require',
    'postgres://host:5432/db?user=a&password=••••&sslmode=require',
  ],
  ['postgres:///db?host=/run/postgresql', 'postgres:///db?host=/run/postgresql'],
] as const)('%s is described as %s', ([text, shown]) => {
  expect(describeConfig({ DATABASE_URL: text }).find(({ name }) => name === 'DATABASE_URL')?.value).toBe(shown)
})

test.for([
  ['redis://a:6379,b:6379,[::1]:6379', 'redis://a:6379,b:6379,[::1]:6379'],
  ['redis://user:pw@a:6379,b:6379', 'redis://user:••••@a:6379,b:6379'],
  ['redis://:pw@a:6379/2,redis://you:pw@b:6379', 'redis://:••••@a:6379/2,redis://you:••••@b:6379'],
  ['redis://a:6379,pw@b:6379', 'redis://a:6379,:••••@b:6379'],
  ['redis://user:p,w@a:6379', '••••,:••••@a:6379'],
  ['redis://a:6379?family=6', 'redis://a:6379?family=6'],
] as const)('of %s is shown %s', ([text, shown]) => {
  expect(describeConfig({ QUEUE_URL: text }).find(({ name }) => name === 'QUEUE_URL')?.value).toBe(shown)
})
