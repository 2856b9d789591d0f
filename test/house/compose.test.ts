import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig } from '../../config/env.ts'
import { STOP_MAX_MS } from '../../src/base/close-stack.ts'
import { sandboxCredentialsOf } from '../../src/base/contract/sandbox-credentials.ts'
import { SECOND } from '../../src/base/time/units.ts'
import { runProgram } from '../support/run-program.ts'

const root = new URL('../../', import.meta.url)
const text = await readFile(new URL('docker-compose.yml', root), 'utf8')
const raw: unknown = parse(text, { merge: true })

/** As Compose does it where nothing is set: `${NAME:-fallback}` becomes the fallback. */
const interpolated: unknown = parse(
  text.replace(/\$\{\w+:-([^}]*)\}/g, (_, fallback: string) => fallback),
  { merge: true },
)
const { services, configs } = z
  .looseObject({
    configs: z.record(z.string(), z.object({ content: z.string() })),
    services: z.record(
      z.string(),
      z.looseObject({
        image: z.string(),
        stop_grace_period: z.string().default(''),
        command: z.array(z.string()).default([]),
        environment: z.record(z.string(), z.string()).default({}),
        depends_on: z.record(z.string(), z.unknown()).default({}),
        healthcheck: z.looseObject({ test: z.array(z.string()).default([]) }).optional(),
        deploy: z.object({ replicas: z.int() }).optional(),
      }),
    ),
  })
  .parse(interpolated)
const ours = Object.entries(services).filter(([, { image }]) => image === 'vitalsync')

test('docker-compose.yml follows the schema of the Compose specification', async () => {
  const schema = JSON.parse(await readFile(new URL('fixtures/compose-spec.json', import.meta.url), 'utf8'))
  schema.$schema = 'http://json-schema.org/draft-07/schema#' // it is draft 7, under an address that ajv does not know
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats.default(ajv)
  const validate = ajv.compile(schema)
  validate(raw)
  expect(validate.errors).toBeNull()
})

test('it brings up redis, postgres, the service, a scheduler, two workers and the dashboard, each with a health check', () => {
  const names = ['postgres', 'redis', 'service', 'migrate', 'discover', 'scheduler', 'worker', 'dashboard']
  expect(Object.keys(services)).toEqual(names)
  expect(services['worker']?.deploy?.replicas).toBe(2)
  for (const [name, { depends_on, healthcheck }] of Object.entries(services)) {
    for (const needed of Object.keys(depends_on)) expect(services).toHaveProperty(needed)
    expect(healthcheck, name).toHaveProperty(['migrate', 'discover'].includes(name) ? 'disable' : 'test')
  }
})

test('it waits until each of our processes has ended', () => {
  const closingSeconds = readConfig({}).drainSeconds + STOP_MAX_MS / SECOND
  for (const [name, { stop_grace_period }] of ours)
    expect(Number(/^(\d+)s$/.exec(stop_grace_period)?.[1]), name).toBeGreaterThan(closingSeconds)
})

test('config/compose.env names settings of docker-compose.yml, and refuses its sample secrets', async () => {
  const example = await readFile(new URL('config/compose.env', root), 'utf8')
  const settings = [...example.matchAll(/^(\w+)=/gm)].map(([, name = '']) => name)
  expect(settings.filter((name) => !text.includes(`\${${name}:-`))).toEqual([])
  expect(settings).toEqual(expect.arrayContaining(['SANDBOX', 'TOKEN_KEY', 'ENGINE_PASSWORD']))
})

test('its Redis keeps an append-only file and evicts nothing', () => {
  const lines = configs['redis']?.content.split('\n')
  expect(lines).toEqual(expect.arrayContaining(['appendonly yes', 'maxmemory-policy noeviction']))
})

test('no password stands in a command line', () => {
  const samples = [...text.matchAll(/\$\{\w*(?:PASSWORD|SECRET|KEY):-([^}]+)\}/g)].map(([, sample = '']) => sample)
  expect(samples).toContain('sample-engines')
  for (const { command, healthcheck } of Object.values(services))
    for (const sample of samples) expect([...command, ...(healthcheck?.test ?? [])].join(' ')).not.toContain(sample)
})

test('what it sets is a configuration without fault, with the credentials of the sandbox it starts', () => {
  for (const [, { environment }] of ours) expect(() => readConfig(environment)).not.toThrow()
  const secret = readConfig(services['service']?.environment ?? {}).sandboxSecret ?? ''
  const { clientId, clientSecret } = sandboxCredentialsOf(secret)
  expect(readConfig(services['worker']?.environment ?? {}).upstream).toMatchObject({ clientId, clientSecret })
})

test('every command it gives is one of ours', async () => {
  for (const [, { command }] of ours) {
    const ended = await runProgram([...command, '--help'], { cwd: fileURLToPath(root) })
    expect({ command, code: ended.code }).toEqual({ command, code: 0 })
    const verb = command.filter((word) => /^[a-z]+$/.test(word)).slice(0, command[0] === 'profiles' ? 2 : 1)
    expect(ended.stdout).toContain(`Usage: vitalsync ${verb.join(' ')}`)
  }
})
