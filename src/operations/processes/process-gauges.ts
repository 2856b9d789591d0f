import { statfs } from 'node:fs/promises'
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import type { Unready } from '../../base/monitoring/metrics-port.ts'
import { SECOND } from '../../base/time/units.ts'
import { lanes } from '../../pipeline/fleet/budget.ts'
import { unreadyReasons } from '../../pipeline/fleet/readiness.ts'
import type { FleetWatch } from '../fleet-watch.ts'
import type { Pipeline } from '../pipeline.ts'

type WatchedProcess = {
  readonly pipeline: () => Pipeline | undefined
  readonly watch: () => FleetWatch | undefined
  readonly unready: () => readonly Unready[]
  readonly dataFolder: string
}

/** The gauges that this process alone knows: its readiness, clock, connections, permits, event loop and disk. */
export function addProcessGauges(registry: Registry, watched: WatchedProcess): void {
  collectDefaultMetrics({ register: registry, prefix: 'vitalsync_' })
  addReadiness(registry, watched)
  addConnections(registry, watched)
  addBudget(registry, watched)
  addDisk(registry, watched)
}

function addReadiness(registry: Registry, { unready, watch }: WatchedProcess): void {
  new Gauge({
    name: 'vitalsync_unready',
    help: '1 for each reason for which this process is not ready',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      const found = new Set(unready().map(({ reason }) => reason))
      for (const reason of unreadyReasons) this.set({ reason }, found.has(reason) ? 1 : 0)
    },
  })
  new Gauge({
    name: 'vitalsync_clock_skew_seconds',
    help: "How far the database's clock is ahead of this machine's",
    registers: [registry],
    collect() {
      this.set((watch()?.skewMs() ?? 0) / SECOND)
    },
  })
}

function addConnections(registry: Registry, { pipeline }: WatchedProcess): void {
  new Gauge({
    name: 'vitalsync_database_connections',
    help: 'Connections of the pool by state; awaited: callers that wait for a connection',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { totalCount = 0, idleCount = 0, waitingCount = 0 } = pipeline()?.pool ?? {}
      this.set({ state: 'idle' }, idleCount)
      this.set({ state: 'busy' }, totalCount - idleCount)
      this.set({ state: 'awaited' }, waitingCount)
    },
  })
}

function addBudget(registry: Registry, { pipeline }: WatchedProcess): void {
  const gauge = (name: string, help: string, read: (state: ReturnType<Pipeline['rateLimiter']['state']>) => number) =>
    new Gauge({
      name: `vitalsync_budget_${name}`,
      help,
      registers: [registry],
      collect() {
        const state = pipeline()?.rateLimiter.state()
        if (state) this.set(read(state))
      },
    })
  gauge('requests_per_second', 'Requests a second that the fleet may send', (state) => state.requestsPerSecond)
  gauge('in_flight_max', 'Requests that the fleet may have in flight', (state) => state.inFlightMax)
  gauge('in_flight', 'Requests that this process has in flight', (state) => state.inFlight)
  gauge('members', 'Processes that share the budget', (state) => state.memberCount)
  gauge(
    'pause_seconds',
    'For how long upstream wants no request',
    ({ pausedUntilMs }) => Math.max(0, pausedUntilMs - (pipeline()?.clock.now() ?? 0)) / SECOND,
  )
  new Gauge({
    name: 'vitalsync_budget_waiting',
    help: 'Requests of this process that wait for a permit',
    labelNames: ['lane'],
    registers: [registry],
    collect() {
      const waiting = pipeline()?.rateLimiter.state().waiting
      for (const lane of lanes) this.set({ lane }, waiting?.[lane] ?? 0)
    },
  })
}

/** The disk of the embedded engines. Where no data folder is, there are none, and the disk of Postgres is watched elsewhere. */
function addDisk(registry: Registry, { dataFolder }: WatchedProcess): void {
  const gauge = (
    name: string,
    help: string,
    read: (disk: { bsize: number; bavail: number; blocks: number }) => number,
  ) =>
    new Gauge({
      name: `vitalsync_disk_${name}`,
      help,
      registers: [registry],
      async collect() {
        const disk = await statfs(dataFolder).catch(() => undefined)
        this.remove()
        if (disk) this.set(read(disk))
      },
    })
  gauge('available_bytes', 'Free space on the disk of the data folder', ({ bsize, bavail }) => bsize * bavail)
  gauge('size_bytes', 'Size of the disk of the data folder', ({ bsize, blocks }) => bsize * blocks)
}
