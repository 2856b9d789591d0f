import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { readConfig } from '../../config/env.ts'
import { STOP_MAX_MS } from '../../src/base/close-stack.ts'
import { SECOND } from '../../src/base/time/units.ts'
import { commandsOf, tree } from '../app/cli/reference.ts'
import { unknownMetricsIn } from '../support/known-metrics.ts'
import { needProgram } from '../support/programs.ts'

const run = promisify(execFile)
const root = new URL('../../', import.meta.url)
const read = async (folder: string) => {
  const names = (await readdir(new URL(folder, root))).toSorted()
  return Promise.all(
    names.map(async (name) => ({ name, text: await readFile(new URL(`${folder}/${name}`, root), 'utf8') })),
  )
}
const units = await read('config/systemd')
const manifests = await read('config/kubernetes')
const commands = new Set(commandsOf(tree()).map(({ name }) => name))
/** The time after which a process ends itself: DRAIN_SECONDS, and what closing may take. */
const closingSeconds = readConfig({}).drainSeconds + STOP_MAX_MS / SECOND

const settingsOf = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)

test('the units of systemd run our commands, as nobody special, and wait for their end', () => {
  expect(units.map(({ name }) => name)).toHaveLength(4)
  for (const { name, text } of units) {
    const [, command = ''] = settingsOf(text, 'ExecStart')[0]?.match(/vitalsync\.mjs (\w+)/) ?? []
    expect(commands, name).toContain(command)
    expect(settingsOf(text, 'User'), name).toEqual(['vitalsync'])
    expect(text, name).not.toMatch(/PASSWORD|SECRET=|TOKEN_KEY=|postgres:\/\//)
    if (name === 'vitalsync-migrate.service') continue
    expect(Number(settingsOf(text, 'TimeoutStopSec')[0]), name).toBeGreaterThan(closingSeconds)
    const environment = settingsOf(text, 'Environment').join(' ').replaceAll('%i', '1')
    const variables = Object.fromEntries(
      [...environment.matchAll(/(\w+)=(\S+)/g)].map(([, key, value]) => [key, value]),
    )
    expect(() => readConfig(variables), name).not.toThrow()
  }
})

test('systemd itself finds no fault with them, and little that is exposed', async ({ skip }) => {
  needProgram(skip, 'systemd-analyze')
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-units-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const paths = units.map(({ name }) => join(folder, name))
  for (const [index, { text }] of units.entries()) {
    // The program and the user of the installation are not on this machine.
    const here = text.replace('/usr/bin/node', `"${process.execPath}"`).replace(/^(User|Group)=.*$/gm, '$1=root')
    await writeFile(paths[index] ?? '', here)
  }
  const { stderr } = await run('systemd-analyze', ['verify', '--man=no', ...paths])
  expect(stderr.split('\n').filter((line) => line.includes(folder))).toEqual([])
  for (const [index, { text }] of units.entries()) {
    await writeFile(paths[index] ?? '', text)
    await run('systemd-analyze', ['security', '--offline=true', '--threshold=20', paths[index] ?? ''])
  }
})

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.literal('metrics') }) })
const container = z.looseObject({
  args: z.array(z.string()),
  envFrom: z.array(
    z.union([
      z.strictObject({ configMapRef: z.object({ name: z.string() }) }),
      z.strictObject({ secretRef: z.object({ name: z.string() }) }),
    ]),
  ),
  env: z.never().optional(),
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })).optional(),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  securityContext: z.looseObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
  }),
  resources: z.object({
    requests: z.object({ cpu: z.string(), memory: z.string() }),
    limits: z.object({ memory: z.string() }),
  }),
})
const template = z.object({
  metadata: z.looseObject({ labels: z.object({ app: z.string() }) }),
  spec: z.looseObject({ terminationGracePeriodSeconds: z.int().optional(), containers: z.array(container).length(1) }),
})
const manifest = z.looseObject({ kind: z.string(), metadata: z.object({ name: z.string() }).loose().optional() })
const objects = manifests.flatMap(({ text }) =>
  parseAllDocuments(text).map((document) => manifest.parse(document.toJS())),
)
const ofKind = <S extends z.ZodType>(kind: string, shape: S) =>
  objects
    .filter((object) => object.kind === kind)
    .map(
      (found) => ({ name: found.metadata?.name, ...(shape.parse(found) as object) }) as { name: string } & z.output<S>,
    )

test('the manifests run our commands, with probes on the port of the metrics, and name secrets by reference', () => {
  const [settings] = ofKind('ConfigMap', z.looseObject({ data: z.record(z.string(), z.string()) }))
  const credentials = { UPSTREAM_CLIENT_ID: 'a', UPSTREAM_CLIENT_SECRET: 'b' }
  const { metricsPort, metricsHost } = readConfig({ ...settings?.data, ...credentials })
  expect(metricsHost).toBe('0.0.0.0')
  const shape = z.looseObject({ spec: z.looseObject({ template }) })
  const deployments = ofKind('Deployment', shape)
  expect(deployments.map(({ name }) => name)).toEqual(['vitalsync-scheduler', 'vitalsync-worker'])
  for (const { name, spec } of [...deployments, ...ofKind('Job', shape)]) {
    const [one] = spec.template.spec.containers
    expect(commands, name).toContain(one?.args[0])
    expect(one?.envFrom).toContainEqual({ secretRef: { name: 'vitalsync' } })
  }
  // The pods of a Job cannot be changed: a new image is taken once the Job of the former one has gone.
  const [migrate] = ofKind('Job', z.looseObject({ spec: z.looseObject({ ttlSecondsAfterFinished: z.int() }) }))
  expect(migrate?.spec.ttlSecondsAfterFinished).toBeLessThanOrEqual(300)
  for (const { name, spec } of deployments) {
    const [one] = spec.template.spec.containers
    expect(one?.ports).toEqual([{ name: 'metrics', containerPort: metricsPort }])
    expect([one?.livenessProbe?.httpGet.path, one?.readinessProbe?.httpGet.path], name).toEqual(['/health', '/ready'])
    expect(spec.template.spec.terminationGracePeriodSeconds, name).toBeGreaterThan(closingSeconds)
  }
  expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([])
})

test('each deployment keeps a pod through disruptions, and workers follow the depth of the queue', () => {
  const selector = z.looseObject({
    spec: z.looseObject({ minAvailable: z.int(), selector: z.object({ matchLabels: z.object({ app: z.string() }) }) }),
  })
  const kept = ofKind('PodDisruptionBudget', selector).map(({ spec }) => spec.selector.matchLabels.app)
  expect(kept.toSorted()).toEqual(['vitalsync-scheduler', 'vitalsync-worker'])
  const scaler = z.looseObject({
    spec: z.looseObject({
      scaleTargetRef: z.looseObject({ name: z.literal('vitalsync-worker') }),
      metrics: z.array(z.looseObject({ external: z.looseObject({ metric: z.looseObject({ name: z.string() }) }) })),
    }),
  })
  const named = ofKind('HorizontalPodAutoscaler', scaler).flatMap(({ spec }) =>
    spec.metrics.map(({ external }) => external.metric.name),
  )
  expect(named).toEqual(['vitalsync_queue_jobs'])
  expect(unknownMetricsIn(manifests.map(({ text }) => text.replaceAll('vitalsync_restored', '')).join('\n'))).toEqual(
    [],
  )
})
