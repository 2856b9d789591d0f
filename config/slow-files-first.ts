import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take half a minute and more, most of it waiting. Begun last, one of them would be left alone at the end. */
export const slowFiles = [
  'commands/readme',
  'commands/up-trouble',
  'commands/up-again',
  'chaos/frozen-worker',
  'connections/causes',
  'commands/stopping',
  'browser/dashboard/dashboard',
  'browser/console/console',
  'commands/beside-up',
  'commands/commands',
  'promises/17-a-rest-is-kept-by-everybody',
  'chaos/kill-points',
  'chaos/silent-network',
  'chaos/paused',
  'chaos/late-derivation',
  'chaos/frozen-commit',
  'chaos/late-upstream',
  'chaos/engines-die',
  'sandbox/sandbox-derived',
  'sandbox/sandbox-command',
].map((name) => `test/${name}.test.ts`)

export default class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = slowFiles.findIndex((name) => moduleId.endsWith(name))
      return place < 0 ? slowFiles.length : place
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
