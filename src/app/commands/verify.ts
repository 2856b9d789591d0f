import { randomInt } from 'node:crypto'
import { pulledStreams } from '../../../config/streams.ts'
import { Problem } from '../../base/errors.ts'
import { formatCount, formatMinute, formatNumber, formatPercent } from '../../base/text/readable.ts'
import { profileIdsOf, type Selection, selectedStreams, tellIfNobody } from '../../operations/select-profiles.ts'
import { measuredRateOf } from '../../pipeline/ledger/measured-rate.ts'
import { type CoveredWindow, sampleCoveredWindows } from '../../pipeline/warehouse/verification/covered-windows.ts'
import type { VerifiedWindow } from '../../pipeline/work/verify-window.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { printResult } from '../terminal/print-result.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { type OpenPipeline, withPipeline } from '../with-pipeline.ts'

type VerifyOptions = Selection & {
  readonly sample: number
  /** The same seed draws the same windows, as long as the same is covered. */
  readonly seed?: number
  readonly mend?: boolean
}

type VerifyResult = Awaited<ReturnType<typeof verifySample>>

const WINDOWS_AT_ONCE = 8
const DIFFERENCES_SHOWN = 20

/**
 * Reads covered windows again and compares them with the warehouse. A window that differs is a silent difference, for the
 * ledger says that the window is covered. Without `--mend` it changes nothing but the measured rate. Prints the rate of the sample with its
 * 95 % interval.
 */
export async function runVerify(context: CommandContext, options: VerifyOptions): Promise<number> {
  const { terminal } = context
  const result = await withPipeline(context, (opened) => verifySample(opened, options, terminal))
  printResult(terminal, ['verify', result], resultLines(result, options))
  return result.windowsDiffering === result.windowsMended ? exitCodes.done : exitCodes.failures
}

async function verifySample(opened: OpenPipeline, options: VerifyOptions, terminal: Terminal) {
  const { pool } = opened.pipeline
  const streams = selectedStreams(pulledStreams, options.stream)
  await tellIfNobody(pool, terminal)
  const ids = await profileIdsOf(pool, options.profile)
  const seed = options.seed ?? randomInt(SEED_MAX)
  const sample = await sampleCoveredWindows({ pool, streams }, { count: options.sample, seed: String(seed), ids })
  if (sample.length === 0)
    throw new Problem('verify: nothing is covered yet, so there is nothing to compare', { hint: 'vitalsync sync' })
  const left = [...sample]
  const all: Array<{ covered: CoveredWindow; verified: VerifiedWindow }> = []
  const verifyNext = async () => {
    for (let covered = left.pop(); covered; covered = left.pop()) {
      opened.signal.throwIfAborted()
      all.push({ covered, verified: await verifyOne(opened, covered, options) })
      terminal.progress(`${all.length}/${sample.length} windows`, all.length / sample.length)
    }
  }
  await Promise.all(Array.from({ length: WINDOWS_AT_ONCE }, verifyNext)).finally(() => terminal.progressEnd())
  if (ids === undefined && options.seed === undefined) await countSample(opened, all)
  const compared = all.filter(({ verified }) => verified.outcome !== 'uncovered')
  const differing = compared.filter(({ verified }) => verified.outcome === 'differs')
  const rates = compared.length > 0 ? measuredRateOf(differing.length, compared.length) : noRate
  return {
    seed,
    asked: options.sample,
    drawn: sample.length,
    windows: compared.length,
    windowsDiffering: differing.length,
    windowsMended: differing.filter(({ verified }) => verified.mended).length,
    ...sumsOf(compared.map(({ verified }) => verified)),
    ...rates,
    differences: differing.map(differenceOf),
  }
}

/** Windows that chance drew of everybody count for the measured rate, as those of the sentinel do. */
async function countSample(
  { pipeline }: OpenPipeline,
  all: ReadonlyArray<{ covered: CoveredWindow; verified: VerifiedWindow }>,
): Promise<void> {
  for (const { covered, verified } of all)
    if (verified.outcome !== 'uncovered') await pipeline.context.verification.count(covered.stream.name, verified)
}

/** As large as a seed may be that a person copies. */
const SEED_MAX = 1_000_000_000
const noRate = { rate: null, rateFrom: null, rateUpTo: null }

function verifyOne({ pipeline, signal }: OpenPipeline, covered: CoveredWindow, { mend = false }: VerifyOptions) {
  return pipeline.context.verification.verify(covered, { mend, options: { lane: 'manual', signal } })
}

function sumsOf(all: readonly VerifiedWindow[]) {
  const sum = (of: (verified: VerifiedWindow) => number) => all.reduce((total, verified) => total + of(verified), 0)
  return {
    records: sum(({ records, counts }) => records + counts.missingUpstream),
    missingHere: sum(({ counts }) => counts.missingHere),
    differing: sum(({ counts }) => counts.differing),
    missingUpstream: sum(({ counts }) => counts.missingUpstream),
    unreadable: sum(({ unreadable }) => unreadable),
  }
}

function differenceOf({ covered, verified }: { covered: CoveredWindow; verified: VerifiedWindow }) {
  const { externalId, stream, window } = covered
  const { counts, causes, mended } = verified
  return {
    externalId,
    stream: stream.name,
    startAt: new Date(window.startMs),
    endAt: new Date(window.endMs),
    records: counts.missingHere + counts.differing + counts.missingUpstream,
    lostHere: causes['lost-here'],
    changedUpstream: causes['changed-upstream'],
    lateUpstream: causes['late-upstream'],
    mended,
  }
}

function resultLines(result: VerifyResult, options: VerifyOptions): string[] {
  const { windows, windowsDiffering, records, rate, rateFrom, rateUpTo } = result
  const interval = rate === null ? '' : ` (95 %: ${formatPercent(rateFrom)} to ${formatPercent(rateUpTo)})`
  return [
    `${formatCount(windows, 'covered window')} read again, ${formatCount(records, 'record')} compared (seed ${result.seed})`,
    ...fewerLines(result),
    `silent differences: ${formatCount(windowsDiffering, 'window')}, a rate of ${formatPercent(rate ?? 0)}${interval}`,
    `missing here ${formatNumber(result.missingHere)}, differing ${formatNumber(result.differing)}, missing upstream ${formatNumber(result.missingUpstream)}, unreadable ${formatNumber(result.unreadable)}`,
    ...(result.unreadable > 0 ? ['unreadable records that were kept: vitalsync quarantine list'] : []),
    ...differencesLines(result, options),
  ]
}

function fewerLines({ asked, drawn }: VerifyResult): string[] {
  if (drawn >= asked) return []
  return [`${formatNumber(asked)} were asked for, but no more are covered: these are all`]
}

function differencesLines({ differences, windowsDiffering, windowsMended }: VerifyResult, { mend }: VerifyOptions) {
  if (differences.length === 0) return []
  const left = windowsDiffering - windowsMended
  return [
    '',
    formatTable(
      ['profile', 'stream', 'from', 'to', 'records', 'lost here', 'changed upstream', 'late upstream'],
      differences.slice(0, DIFFERENCES_SHOWN).map(differenceCells),
    ),
    '',
    ...(windowsMended > 0 ? [`${formatCount(windowsMended, 'window')} mended.`] : []),
    ...(left > 0 && mend ? [`${formatCount(left, 'window')} not mended, and due again for the next sweep.`] : []),
    ...(mend ? [] : ['Mend what differs: the same command with --mend.']),
  ]
}

const differenceCells = (difference: ReturnType<typeof differenceOf>) => [
  difference.externalId,
  difference.stream,
  formatMinute(difference.startAt),
  formatMinute(difference.endAt),
  difference.records,
  difference.lostHere,
  difference.changedUpstream,
  difference.lateUpstream,
]
