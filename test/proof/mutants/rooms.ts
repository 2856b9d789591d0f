/**
 * The rooms whose files are mutated. A row says which files are mutated and which tests must notice. Rooms without engines run in
 * seconds a file; the tests of the others share a Postgres and a Redis that are started once for all rooms.
 */
export type Room = {
  readonly name: string
  /** Globs of the files that are mutated. */
  readonly sources: readonly string[]
  /** Globs of the test files that run. For each mutant Stryker runs only the tests that reach it. */
  readonly tests: readonly string[]
  readonly engines: boolean
  /** Its tests wait for answers, which many mutants lose. A longer one than two seconds says so itself. */
  readonly waits?: true
  /**
   * Each survivor of the room is explained in `survivors/`: a new one means that the proof does not hold. For the other rooms the
   * score is measured, and survivors are counted.
   */
  readonly isListed?: true
  /** Globs of the files that are also held against the simulation alone. */
  readonly simulated?: readonly string[]
}

const pureTests = [
  'test/{base/{time,text},pipeline/{ledger,fleet,transfer,schedule}}/*.test.ts',
  'test/simulation/interleavings.test.ts',
]

/** The random worlds, without the slow simulation of lateness. */
export const simulation: readonly string[] = ['test/simulation/interleavings.test.ts']

export const rooms: readonly Room[] = [
  {
    name: 'ledger',
    sources: ['src/pipeline/ledger/*.ts'],
    tests: pureTests,
    engines: false,
    isListed: true,
    simulated: ['src/pipeline/ledger/{judge,planner,awaiting-upstream}.ts'],
  },
  {
    name: 'transfer',
    sources: ['src/pipeline/transfer/*.ts', 'src/base/connections/finding.ts'],
    tests: [...pureTests, 'test/base/connections/finding.test.ts'],
    engines: false,
    isListed: true,
  },
  { name: 'fleet', sources: ['src/pipeline/fleet/*.ts'], tests: pureTests, engines: false, isListed: true },
  { name: 'time', sources: ['src/base/time/!(instant).ts'], tests: pureTests, engines: false, isListed: true },
  {
    name: 'schedule',
    sources: ['src/pipeline/schedule/*.ts'],
    tests: ['test/pipeline/schedule/*.test.ts'],
    engines: false,
    isListed: true,
  },
  {
    name: 'queue',
    sources: ['src/pipeline/queue/{lane-slots,watchdog,retries,rate-permits,job-timeout}.ts', 'src/base/semaphore.ts'],
    tests: [
      'test/pipeline/queue/{lane-slots,lane-slot-rules,watchdog,retries,rate-permits,job-signal}.test.ts',
      'test/base/semaphore.test.ts',
    ],
    engines: false,
    isListed: true,
  },
  {
    name: 'readings',
    sources: ['src/pipeline/warehouse/readings/{settle-readings,tag-changes,reading-queue}.ts'],
    tests: ['test/pipeline/warehouse/readings/{reading-rules,suspicious-readings,lateness,reading-tags}.test.ts'],
    engines: true,
    waits: true,
    isListed: true,
  },
  {
    name: 'due',
    sources: ['src/service/recompute/{answer-state,next-change,portion,reach,shares}.ts'],
    tests: ['test/service/recompute/{due-edges,shares}.test.ts'],
    engines: false,
    isListed: true,
  },
  {
    name: 'upstream-http',
    sources: ['src/pipeline/upstream/{transport,client,examine-upstream}.ts'],
    tests: [
      'test/pipeline/upstream/{addresses,answers,client-connections,examine-upstream}.test.ts',
      'test/pipeline/upstream/{faulty-server,found-profiles,registration,telemetry,token-renewal,transport-limits}.test.ts',
    ],
    engines: true,
    isListed: true,
  },
  {
    name: 'work',
    sources: ['src/pipeline/work/!(verify-window).ts', 'jobs/*.ts'],
    tests: ['test/pipeline/work/!(push|verify-window).test.ts', 'test/jobs/*.test.ts'],
    engines: true,
    isListed: true,
  },
  {
    name: 'verification',
    sources: ['src/pipeline/work/verify-window.ts'],
    tests: ['test/pipeline/work/verify-window.test.ts', 'test/jobs/verify-profile.test.ts'],
    engines: true,
    isListed: true,
  },
  {
    name: 'upstream',
    // The words of refusal-words are a list that only a person can judge.
    sources: ['src/pipeline/upstream/**/!(transport|client|examine-upstream|refusal-words).ts'],
    // The others take up to half a minute, for each mutant that lives.
    tests: [
      'test/pipeline/upstream/!(client-conformance|faulty-server|no-secret-leaves|rate-limiter|token-renewal-by-many-processes).test.ts',
    ],
    engines: true,
    waits: true,
    isListed: true,
  },
  {
    // Bounds of days, and judgements about them.
    name: 'days',
    sources: [
      'src/service/derive/day/{day-bounds,logs-by-day,log-ranking,merged-amounts,sleep-clusters}.ts',
      'src/service/derive/days/{hysteresis,missing-reasons,references,scores,trend-judgement}.ts',
    ],
    // The others take longer than all of these, for each mutant that lives.
    tests: [
      'test/service/derive/!(archetypes|clock-changes|finite|never-sent|properties|totals|trend-noise|zones).test.ts',
    ],
    engines: false,
    isListed: true,
  },
]
