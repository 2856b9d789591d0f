import { streams } from '../../config/streams.ts'
import { Problem } from '../errors.ts'
import { type CoveredWindow, compareWindow, sampleCovered } from '../warehouse/verification.ts'
import { windowOf } from '../window.ts'
import type { CommandContext } from './engines.ts'
import { type Chosen, idsOfNamed } from './gaps.ts'
import { type Opened, withPipeline } from './open.ts'
import { minute } from './runs.ts'
import { many, number, table } from './terminal.ts'

export type VerifyOptions = CommandContext & Chosen & { readonly sample: number }

type Difference = { externalId: string; stream: string; startAt: Date; endAt: Date; records: number }
type Result = Awaited<ReturnType<typeof measure>>

const AT_ONCE = 8
const DIFFERENCES_SHOWN = 20

/**
 * Reads covered windows anew and compares: what differs is a silent difference, for the ledger vouched for it. Changes
 * nothing. The rate is that of the sample; with it goes how high it may be in truth, at 95 % confidence.
 */
export async function verify(options: VerifyOptions): Promise<number> {
  const { terminal } = options
  const result = await withPipeline(options, (opened) => measure(opened, options))
  if (terminal.json) terminal.printJson(result)
  else terminal.print(linesOf(result).join('\n'))
  return result.windowsDiffering === 0 ? 0 : 1
}

async function measure({ pipeline, signal }: Opened, options: VerifyOptions) {
  const wanted = streams.filter(({ name }) => options.streams.length === 0 || options.streams.includes(name))
  const ids = await idsOfNamed(pipeline.pool, options.profiles)
  const sample = await sampleCovered({ pool: pipeline.pool, streams: wanted }, { count: options.sample, ids })
  const sums = { windows: 0, records: 0, missingHere: 0, differing: 0, missingUpstream: 0, unreadable: 0 }
  const differences: Difference[] = []
  const left = [...sample]
  const work = async () => {
    for (let window = left.pop(); window; window = left.pop()) {
      signal.throwIfAborted()
      const cut = cutToOne(window)
      const { profileId, externalId, stream } = window
      const target = { profileId, externalId, window: windowOf(cut.from, cut.to) }
      const reading = await pipeline.upstream.read(stream, target, { lane: 'manual', signal })
      const found = await compareWindow(pipeline.pool, cut, reading.records)
      const records = found.missingHere + found.differing + found.missingUpstream
      sums.windows += 1
      sums.records += found.records + found.missingUpstream
      sums.missingHere += found.missingHere
      sums.differing += found.differing
      sums.missingUpstream += found.missingUpstream
      sums.unreadable += found.unreadable + reading.odd.length
      if (records > 0)
        differences.push({
          externalId,
          stream: stream.name,
          startAt: new Date(cut.from),
          endAt: new Date(cut.to),
          records,
        })
      options.terminal.progress(`${sums.windows}/${sample.length} windows`, sums.windows / sample.length)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work)).finally(() => options.terminal.progressEnd())
  if (sums.windows === 0)
    throw new Problem('verify: nothing is covered yet, so there is nothing to compare', { hint: 'vitalsync sync' })
  const windowsDiffering = differences.length
  return {
    ...sums,
    windowsDiffering,
    rate: windowsDiffering / sums.windows,
    rateUpTo: upperBound(windowsDiffering, sums.windows),
    differences,
  }
}

/** One request's worth of a covered span, somewhere within it. */
function cutToOne(window: CoveredWindow): CoveredWindow {
  const { from, to, stream } = window
  if (to - from <= stream.windowMs || stream.kind === 'snapshot') return window
  const start = Math.floor(from + Math.random() * (to - from - stream.windowMs))
  return { ...window, from: start, to: start + stream.windowMs }
}

/** The upper end of the Wilson interval at 95 %: what the true rate hardly exceeds. */
export function upperBound(hits: number, size: number): number {
  const z = 1.96
  const share = hits / size
  const middle = share + (z * z) / (2 * size)
  const spread = z * Math.sqrt((share * (1 - share)) / size + (z * z) / (4 * size * size))
  return Math.min(1, (middle + spread) / (1 + (z * z) / size))
}

const percent = (share: number) => `${(share * 100).toFixed(share > 0 && share < 0.01 ? 3 : 1)} %`

function linesOf(result: Result): string[] {
  const { windows, windowsDiffering, records, rate, rateUpTo } = result
  return [
    `${many(windows, 'covered window')} read anew, ${many(records, 'record')} compared`,
    `silent differences: ${many(windowsDiffering, 'window')}, a rate of ${percent(rate)} (at 95 % confidence at most ${percent(rateUpTo)})`,
    `missing here ${number(result.missingHere)}, differing ${number(result.differing)}, missing upstream ${number(result.missingUpstream)}, unreadable ${number(result.unreadable)}`,
    ...(result.differences.length === 0
      ? []
      : [
          '',
          table(
            ['profile', 'stream', 'from', 'to', 'records'],
            result.differences
              .slice(0, DIFFERENCES_SHOWN)
              .map((one) => [one.externalId, one.stream, minute(one.startAt), minute(one.endAt), one.records]),
          ),
          '',
          'Mend them: vitalsync backfill --again with --profile, --stream, --from and --to as above.',
        ]),
  ]
}
