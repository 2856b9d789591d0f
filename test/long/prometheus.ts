import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePort } from '../../src/base/engines/embedded-postgres.ts'
import type { Checklist } from './checklist.ts'

type PrometheusOptions = {
  readonly folder: string
  /** The text of the rules. */
  readonly rules: string
  /** How often it scrapes and judges, as Prometheus writes it. */
  readonly every: string
  readonly checklist: Checklist
}

/** Addresses by the name of their job. */
export type Sites = Readonly<Record<string, string>>

type Alert = { readonly state: string; readonly labels: { readonly alertname: string } }
type Answer = { data: { alerts: Alert[]; result: Array<{ value: [number, string] }> } }

const FIRES_MAX_MS = 300_000
const RESOLVES_MAX_MS = 240_000

/** Starts a real Prometheus (Debian's package `prometheus`) on the given rules. It scrapes nothing until it gets its targets. */
export async function startPrometheus({ folder, rules, every, checklist }: PrometheusOptions) {
  const targetsFile = join(folder, 'targets.json')
  /** Renamed when it is whole: Prometheus reads the file whenever it changes. */
  const scrape = async (sites: Sites) => {
    const list = Object.entries(sites).map(([job, target]) => ({ targets: [target], labels: { job } }))
    await writeFile(`${targetsFile}.new`, JSON.stringify(list))
    await rename(`${targetsFile}.new`, targetsFile)
  }
  await scrape({})
  await writeFile(join(folder, 'alerts.yml'), rules)
  await writeFile(join(folder, 'prometheus.yml'), configOf(every, targetsFile))
  const port = await freePort()
  const words = [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/tsdb`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ]
  const prometheus = spawn('prometheus', words, { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(prometheus, 'exit')
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
    return ((await answer.json()) as Answer).data
  }
  const firing = async () =>
    (await ask('alerts')).alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)
  const isFiring = async (name: string) => (await firing()).includes(name)
  return {
    scrape,
    query: async (expression: string) => (await ask(`query?query=${encodeURIComponent(expression)}`)).result,
    /** The names of the alerts that fire now. */
    firing,
    fires: (name: string) => checklist.until(`${name} fires`, () => isFiring(name), FIRES_MAX_MS),
    resolves: (name: string) =>
      checklist.until(`${name} resolves`, async () => !(await isFiring(name)), RESOLVES_MAX_MS),
    async close() {
      prometheus.kill('SIGTERM')
      await ended
    },
  }
}

const configOf = (every: string, targetsFile: string) =>
  stringify({
    global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
    rule_files: ['alerts.yml'],
    scrape_configs: [{ job_name: 'vitalsync', file_sd_configs: [{ files: [targetsFile], refresh_interval: '2s' }] }],
  })
