import { pulledStreams } from '../../config/streams.ts'
import { type CommandContext, exitCodes } from '../assembly/command-context.ts'
import { profileIdsOf, type Selection, selectedStreams } from '../assembly/select-profiles.ts'
import { formatCount, formatMinute, formatNumber, formatTable } from '../assembly/table.ts'
import type { Terminal } from '../assembly/terminal.ts'
import { type OpenPipeline, withPipeline } from '../assembly/with-pipeline.ts'
import { Problem } from '../errors.ts'
import { type CoveredWindow, compareWithStored, sampleCoveredWindows } from '../warehouse/reports/verification.ts'

type VerifyOptions = Selection & { readonly sample: number }

type WindowDifference = { externalId: string; stream: string; startAt: Date; endAt: Date; records: number }
type VerifyResult = Awaited<ReturnType<typeof compareSample>>

const WINDOWS_AT_ONCE = 8
const DIFFERENCES_SHOWN = 20

/**
 * Reads covered windows again and compares them with the warehouse. A window that differs is a silent difference, for the
 * ledger says that the window is covered. Changes nothing. Prints the rate of the sample, and the highest true rate that is
 * likely, at 95 % confidence.
 */
export async function runVerify(context: CommandContext, options: VerifyOptions): Promise<number> {
  const { terminal } = context
  const result = await withPipeline(context, (opened) => compareSample(opened, options, terminal))
  if (terminal.json) terminal.printJson('verify', result)
  else terminal.print(resultLines(result).join('\n'))
  return result.windowsDiffering === 0 ? exitCodes.done : exitCodes.failures
}

async function compareSample(opened: OpenPipeline, options: VerifyOptions, terminal: Terminal) {
  const { pool } = opened.pipeline
  const wanted = selectedStreams(pulledStreams, options.streams)
  const ids = await profileIdsOf(pool, options.profiles)
  const sample = await sampleCoveredWindows({ pool, streams: wanted }, { count: options.sample, ids })
  const sums = { windows: 0, records: 0, missingHere: 0, differing: 0, missingUpstream: 0, unreadable: 0 }
  const differences: WindowDifference[] = []
  const left = [...sample]
  const compareNext = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      opened.signal.throwIfAborted()
      const { found, difference } = await compareWindow(opened, cutToOneRequest(next))
      sums.windows += 1
      sums.records += found.records + found.missingUpstream
      sums.missingHere += found.missingHere
      sums.differing += found.differing
      sums.missingUpstream += found.missingUpstream
      sums.unreadable += found.unreadable
      if (difference.records > 0) differences.push(difference)
      terminal.progress(`${sums.windows}/${sample.length} windows`, sums.windows / sample.length)
    }
  }
  await Promise.all(Array.from({ length: WINDOWS_AT_ONCE }, compareNext)).finally(() => terminal.progressEnd())
  if (sums.windows === 0)
    throw new Problem('verify: nothing is covered yet, so there is nothing to compare', { hint: 'vitalsync sync' })
  const windowsDiffering = differences.length
  const rate = windowsDiffering / sums.windows
  return { ...sums, windowsDiffering, rate, rateUpTo: wilsonUpperBound(windowsDiffering, sums.windows), differences }
}

async function compareWindow({ pipeline, signal }: OpenPipeline, covered: CoveredWindow) {
  const { profileId, externalId, stream, window } = covered
  const reading = await pipeline.upstream.read(stream, { profileId, externalId, window }, { lane: 'manual', signal })
  const found = await compareWithStored(pipeline.pool, covered, reading.records)
  const difference: WindowDifference = {
    externalId,
    stream: stream.name,
    startAt: new Date(window.startMs),
    endAt: new Date(window.endMs),
    records: found.missingHere + found.differing + found.missingUpstream,
  }
  return { found: { ...found, unreadable: found.unreadable + reading.invalid.length }, difference }
}

/** Cuts a covered span that is longer than one request may ask for to such a window, somewhere within the span. */
function cutToOneRequest(covered: CoveredWindow): CoveredWindow {
  const { stream, window } = covered
  const spareMs = window.endMs - window.startMs - stream.windowMs
  if (spareMs <= 0 || stream.kind === 'snapshot') return covered
  const startMs = Math.floor(window.startMs + Math.random() * spareMs)
  return { ...covered, window: { startMs, endMs: startMs + stream.windowMs } }
}

/** The upper end of the Wilson interval at 95 %: the true rate is hardly higher. */
function wilsonUpperBound(hits: number, size: number): number {
  const z = 1.96
  const share = hits / size
  const middle = share + (z * z) / (2 * size)
  const spread = z * Math.sqrt((share * (1 - share)) / size + (z * z) / (4 * size * size))
  return Math.min(1, (middle + spread) / (1 + (z * z) / size))
}

const percent = (share: number) => `${(share * 100).toFixed(share > 0 && share < 0.01 ? 3 : 1)} %`

function resultLines(result: VerifyResult): string[] {
  const { windows, windowsDiffering, records, rate, rateUpTo } = result
  return [
    `${formatCount(windows, 'covered window')} read anew, ${formatCount(records, 'record')} compared`,
    `silent differences: ${formatCount(windowsDiffering, 'window')}, a rate of ${percent(rate)} (at 95 % confidence at most ${percent(rateUpTo)})`,
    `missing here ${formatNumber(result.missingHere)}, differing ${formatNumber(result.differing)}, missing upstream ${formatNumber(result.missingUpstream)}, unreadable ${formatNumber(result.unreadable)}`,
    ...(result.differences.length === 0
      ? []
      : [
          '',
          formatTable(
            ['profile', 'stream', 'from', 'to', 'records'],
            result.differences
              .slice(0, DIFFERENCES_SHOWN)
              .map((one) => [
                one.externalId,
                one.stream,
                formatMinute(one.startAt),
                formatMinute(one.endAt),
                one.records,
              ]),
          ),
          '',
          'Mend them: vitalsync backfill --again with --profile, --stream, --from and --to as above.',
        ]),
  ]
}
