import { basename } from 'node:path'
import type { Killers } from './listed-mutants.ts'
import type { Mutant } from './mutants.ts'
import type { RecordedTest } from './recording.ts'

/** A file of tests that sends the statement of a mutant: those tests, and how long they took as they are. */
export type Step = { readonly file: string; readonly tests: readonly string[]; readonly ms: number }

/** A survivor has run the tests of its area that send its statement, and others, each the quickest first, up to these durations. */
const OTHER_TESTS_MS_MAX = 15_000
const AREA_TESTS_MS_MAX = 60_000

/** The tests that are about an area, in whatever folder of the tests they lie. */
const testsOfArea: ReadonlyArray<{ area: RegExp; tests: RegExp }> = [
  {
    area: /^coverage$/,
    tests:
      /\/(pipeline\/warehouse\/(ledger|readings|verification)\/|promises\/(03|04|08|18|an-empty|edges|the-service))/,
  },
  { area: /^readings$/, tests: /\/(pipeline\/warehouse\/readings\/|promises\/(01|05|06|edges))/ },
  { area: /^outbox$/, tests: /\/(pipeline\/warehouse\/outbox\/|pipeline\/work\/push|promises\/(07|08|what-has-not))/ },
  {
    area: /^runs$/,
    tests: /\/(pipeline\/warehouse\/runs\/|pipeline\/(work|schedule)\/|promises\/(02|12|19|every-order))/,
  },
  { area: /^tokens$/, tests: /\/(pipeline\/warehouse\/tokens\/|pipeline\/upstream\/|promises\/10)/ },
  { area: /^erasure$/, tests: /\/(pipeline\/warehouse\/profiles\/|promises\/13)/ },
  { area: /./, tests: /\/service\// },
]

/** The files to play a mutant against, the likeliest to kill it first. Tests that fail as they are prove nothing. */
export function createStepsOf(recorded: readonly RecordedTest[], killers: Killers): (mutant: Mutant) => Step[] {
  const passed = new Map(
    recorded.filter(({ state }) => state === 'passed').map((test) => [`${test.file}\n${test.test}`, test.ms]),
  )
  const byFile = Map.groupBy(recorded, ({ file }) => file)
  return ({ id, area, file: product, senders }) => {
    const own = testsOfArea.find((one) => one.area.test(area))?.tests ?? /^$/
    const steps = [...Map.groupBy(senders, ({ file }) => file)].flatMap(([file, sent]): Step[] => {
      const inHooks = sent.some(({ test }) => test === '')
      const names = inHooks ? (byFile.get(file) ?? []).map(({ test }) => test) : sent.map(({ test }) => test)
      const tests = [...new Set(names)].filter((test) => passed.has(`${file}\n${test}`))
      const ms = tests.reduce((sum, test) => sum + (passed.get(`${file}\n${test}`) ?? 0), 0)
      return tests.length > 0 ? [{ file, tests, ms }] : []
    })
    const isOwn = ({ file }: Step) => own.test(file)
    const killer = ({ file }: Step) => Number(killers[basename(file)]?.ids.includes(id) ?? false)
    return [
      ...quickest(steps.filter(isOwn), AREA_TESTS_MS_MAX),
      ...quickest(
        steps.filter((step) => !isOwn(step)),
        OTHER_TESTS_MS_MAX,
      ),
    ].toSorted((one, other) => killer(other) - killer(one) || words(other, product) - words(one, product))
  }
}

/** How many words a file of tests has in common with the file of the product. */
function words({ file }: Step, product: string): number {
  const own = new Set(basename(product).split(/\W/))
  return basename(file)
    .split(/\W/)
    .filter((word) => word !== 'ts' && own.has(word)).length
}

function quickest(steps: readonly Step[], msMax: number): Step[] {
  const sorted = steps.toSorted((one, other) => one.ms - other.ms)
  const msUpTo = (index: number) => sorted.slice(0, index + 1).reduce((sum, { ms }) => sum + ms, 0)
  return sorted.filter((_, index) => index < 2 || msUpTo(index) <= msMax)
}
