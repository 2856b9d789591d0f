import { Gauge, type Registry } from 'prom-client'
import { SECOND } from '../../base/time/units.ts'
import { lagBoundsSeconds, type QuickFacts, type SlowFacts } from '../../pipeline/fleet/fleet-facts.ts'
import type { FleetWatch } from '../fleet-watch.ts'

/** A value with the labels of its series. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

type GaugeRow<F> = {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  readonly read: (facts: F) => readonly Sample[]
}

const only = (value: number): Sample[] => [[{}, value]]
const eachLane =
  (read: (facts: NonNullable<QuickFacts['queue']>[number]) => number) =>
  ({ queue }: QuickFacts): Sample[] =>
    (queue ?? []).map((facts) => [{ lane: facts.lane }, read(facts)])

const quickGauges: ReadonlyArray<GaugeRow<QuickFacts>> = [
  { name: 'profiles_due', help: 'Profiles whose time to be looked at has come', read: ({ due }) => only(due) },
  {
    name: 'profiles_due_oldest_seconds',
    help: 'For how long the profile that is due the longest has been due',
    read: ({ dueOldestSeconds }) => only(dueOldestSeconds),
  },
  {
    name: 'progress_timestamp_seconds',
    help: 'When a job last ended or a reading was last stored, anywhere; now, while nothing waits',
    read: ({ progress }) => only(progress.sinceMs / SECOND),
  },
  {
    name: 'account_halted',
    help: '1 while upstream refuses the credentials of the account',
    read: ({ halted }) => only(halted === null ? 0 : 1),
  },
  {
    name: 'account_token_generation',
    help: 'How often the token of the account was renewed',
    read: ({ tokenGeneration }) => (tokenGeneration === null ? [] : only(tokenGeneration)),
  },
  {
    name: 'last_nightly_timestamp_seconds',
    help: 'When a nightly last came to its end',
    read: ({ lastNightlyMs }) => (lastNightlyMs === null ? [] : only(lastNightlyMs / SECOND)),
  },
  {
    name: 'run_age_seconds',
    help: 'Age of the oldest run of its kind that has not ended',
    labels: ['kind'],
    read: ({ runs }) => runs.map(({ kind, ageSeconds }) => [{ kind }, ageSeconds]),
  },
  {
    name: 'run_jobs_left',
    help: 'Jobs that runs have ordered and that have not ended',
    labels: ['kind'],
    read: ({ runs }) => runs.map(({ kind, left }) => [{ kind }, left]),
  },
  {
    name: 'outbox_items',
    help: 'Items that wait to be pushed',
    labels: ['stream'],
    read: ({ outbox }) => outbox.map(({ stream, items }) => [{ stream }, items]),
  },
  {
    name: 'outbox_oldest_seconds',
    help: 'For how long the oldest item has been waiting to be pushed',
    labels: ['stream'],
    read: ({ outbox }) => outbox.map(({ stream, oldestSeconds }) => [{ stream }, oldestSeconds]),
  },
  { name: 'workers', help: 'Workers that show life', read: ({ workers }) => only(workers) },
  {
    name: 'lane_trouble',
    help: '1 while no job of the lane succeeds',
    labels: ['lane'],
    read: ({ queue, troubles }) =>
      (queue ?? []).map(({ lane }) => [{ lane }, troubles.some((trouble) => trouble.lane === lane) ? 1 : 0]),
  },
  {
    name: 'queue_jobs',
    help: 'Jobs in the queue by lane and state: waiting, active, delayed until their next attempt',
    labels: ['lane', 'state'],
    read: ({ queue }) =>
      (queue ?? []).flatMap(({ lane, waiting, active, delayed }) =>
        Object.entries({ waiting, active, delayed }).map(([state, jobs]): Sample => [{ lane, state }, jobs]),
      ),
  },
  {
    name: 'queue_oldest_seconds',
    help: 'For how long the oldest waiting job of the lane has been waiting',
    labels: ['lane'],
    read: eachLane(({ oldestSeconds }) => oldestSeconds),
  },
  {
    name: 'slots_overdue',
    help: 'Slots whose time has come and that no scheduler has taken',
    labels: ['schedule'],
    read: ({ slots }) => slots.map(({ schedule, missed }) => [{ schedule }, missed]),
  },
  {
    name: 'slot_overdue_seconds',
    help: 'For how long the oldest of these slots has been waiting',
    labels: ['schedule'],
    read: ({ slots }) => slots.map(({ schedule, overdueSeconds }) => [{ schedule }, overdueSeconds]),
  },
]

/** The share of a histogram that is kept per bound, as `histogram_quantile` wants it: with the label `le`. */
const lagSamples = (read: (lag: SlowFacts['lags'][number]) => readonly number[]) => (facts: SlowFacts) =>
  facts.lags.flatMap((lag) => [
    ...lagBoundsSeconds.map(
      (bound, index): Sample => [{ stream: lag.stream, le: String(bound) }, read(lag)[index] ?? 0],
    ),
    [{ stream: lag.stream, le: '+Inf' }, lag.profiles] as const,
  ])

const slowGauges: ReadonlyArray<GaugeRow<SlowFacts>> = [
  {
    name: 'profiles',
    help: 'Profiles by state',
    labels: ['state'],
    read: ({ profiles }) => profiles.map(({ state, count }) => [{ state }, count]),
  },
  {
    name: 'coverage_lag_profiles',
    help: 'Profiles whose checkpoint is at most `le` seconds behind now: a histogram over profiles',
    labels: ['stream', 'le'],
    read: lagSamples(({ coveredWithin }) => coveredWithin),
  },
  {
    name: 'reading_lag_profiles',
    help: 'Profiles whose last reading is at most `le` seconds old: a histogram over profiles',
    labels: ['stream', 'le'],
    read: lagSamples(({ readWithin }) => readWithin),
  },
  {
    name: 'refusals',
    help: 'Windows that upstream refuses at present',
    labels: ['stream'],
    read: ({ refusals }) => refusals.map(({ stream, count }) => [{ stream }, count]),
  },
  {
    name: 'failures',
    help: 'Jobs that failed for good and have not succeeded since',
    labels: ['job'],
    read: ({ failures }) => failures.map(({ job, count }) => [{ job }, count]),
  },
  {
    name: 'people_silent',
    help: 'People who have gone silent, by kind of silence',
    labels: ['kind'],
    read: ({ silent }) => silent.map(({ kind, count }) => [{ kind }, count]),
  },
  {
    name: 'quarantine',
    help: 'Records and items in the quarantine',
    labels: ['direction', 'stream'],
    read: ({ quarantine }) => quarantine.map(({ direction, stream, count }) => [{ direction, stream }, count]),
  },
  {
    name: 'drift',
    help: 'What upstream says that is not known, and that was not accepted',
    labels: ['stream'],
    read: ({ drift }) => drift.map(({ stream, count }) => [{ stream }, count]),
  },
  {
    name: 'silent_difference_ratio',
    help: 'Share of verified windows that differed in 30 days, and the lower end of its 95 % interval',
    labels: ['bound'],
    read: ({ verified }) => [
      [{ bound: 'measured' }, verified.rate],
      [{ bound: 'lower' }, verified.rateFrom],
    ],
  },
  {
    name: 'table_bytes',
    help: 'Size of each table with its indexes',
    labels: ['table'],
    read: ({ tables }) => tables.map(({ table, bytes }) => [{ table }, bytes]),
  },
  { name: 'database_bytes', help: 'Size of the warehouse database', read: ({ databaseBytes }) => only(databaseBytes) },
]

/** The facts of the fleet: the same in every process, so they are joined by `max`, and never summed. */
export function addFleetGauges(registry: Registry, watch: () => FleetWatch | undefined): void {
  for (const row of quickGauges) addGauge(registry, row, () => watch()?.quick())
  for (const row of slowGauges) addGauge(registry, row, () => watch()?.slow())
}

function addGauge<F>(registry: Registry, { name, help, labels = [], read }: GaugeRow<F>, find: () => F | undefined) {
  new Gauge({
    name: `vitalsync_${name}`,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect() {
      this.reset() // a series without its fact is no longer exported
      if (labels.length === 0) this.remove()
      const facts = find()
      for (const [series, value] of facts ? read(facts) : []) this.set(series, value)
    },
  })
}
