import { hash } from 'node:crypto'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take a quarter of a minute and more. Begun last, one of them would be left alone at the end. Those that keep the processor
 * busy alternate with those that wait. `--sequence.shuffle` shuffles files as well as tests.
 */
export const slowFiles = [
  'browser/dashboard/dashboard',
  'walks/up-trouble',
  'walks/two-versions',
  'walks/pages',
  'operations/contract/examine-contract',
  'chaos/frozen-worker',
  'walks/up-again',
  'base/connections/causes',
  'walks/readme',
  'app/commands/stopping',
  'app/commands/commands',
  'promises/17-a-rest-is-kept-by-everybody',
  'app/cli/bad-input',
  'pipeline/queue/parts-on-cluster',
  'pipeline/queue/queue-parts',
  'chaos/silent-network',
  'chaos/kill-points',
  'walks/beside-up',
  'chaos/engines-die',
  'service/sandbox/sandbox-derived',
  'chaos/random',
  'browser/console/console',
  'pipeline/upstream/faulty-server',
  'service/sandbox/sandbox-command',
  'chaos/late-upstream',
  'chaos/late-derivation',
  'chaos/frozen-commit',
  'service/recompute/late',
  'pipeline/upstream/rate-limiter',
  'app/commands/import-health',
  'chaos/paused',
  'service/sandbox/fault-injection',
  'chaos/failover',
  'app/commands/profiles',
  'chaos/stalled',
  'app/commands/import',
  'app/commands/monitoring',
  'pipeline/upstream/client-conformance',
  'pipeline/queue/job-timeout',
  'app/commands/doctor',
  'chaos/full-disk',
  'walks/up-pasted',
  'promises/18-what-is-covered-is-verified',
  'service/sandbox/sample-people',
  'simulation/interleavings',
  'service/derive/trend-noise',
  'service/sandbox/round-trips',
  'service/derive/properties',
  'service/derive/zones',
].map((name) => `test/${name}.test.ts`)

export default class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { shuffle, seed } = this.ctx.config.sequence
    const drawn = ({ moduleId }: TestSpecification) => hash('sha256', `${seed} ${moduleId}`)
    if (shuffle) return files.toSorted((a, b) => (drawn(a) < drawn(b) ? -1 : 1))
    const rank = ({ moduleId }: TestSpecification) => {
      const place = slowFiles.findIndex((name) => moduleId.endsWith(name))
      return place < 0 ? slowFiles.length : place
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
