import type { Span } from '../../src/base/time/spans.ts'
import { DAY, HOUR, MINUTE } from '../../src/base/time/units.ts'
import { dueWindows } from '../../src/pipeline/ledger/planner.ts'
import type { PlannedProfile } from '../../src/pipeline/transfer/planned-profile.ts'
import type { DueWindow } from '../../src/pipeline/transfer/reading.ts'
import type { PulledStream } from '../../src/pipeline/transfer/stream.ts'
import { requestHashOf, taggedSpanOf } from '../../src/pipeline/transfer/tagged-window.ts'
import type { JobContext } from '../../src/pipeline/work/job.ts'
import type { ProcessSettings } from './circumstances.ts'
import type { LedgerRow, ModelProfile } from './model-state.ts'

type PlanRequest = Parameters<JobContext['ledger']['plan']>[0]
export type PlanInput = Parameters<typeof dueWindows>[0]
export type ModelPlan = { readonly profile: PlannedProfile; readonly due: readonly DueWindow[] }

type Planning = ProcessSettings & {
  readonly databaseNowMs: number
  /** Sees each plan of one stream, with what it was made of. */
  readonly onPlan: (input: PlanInput, windows: readonly Span[]) => void
}

/** Upstream dates some records ahead. They are read and not covered. */
const AHEAD_MS = 2 * DAY
const UNREAD_MAX_MS = 6 * HOUR
const SAME_WINDOW_MS = 4 * DAY
const SHIFTED_MS = 10 * MINUTE
const WINDOWS_MAX = 500

/** The windows that are due, as the ledger and its refusals say. */
export function planInModel(here: ModelProfile, request: PlanRequest, planning: Planning): ModelPlan {
  const { pulled, pushed } = planning.catalogue
  const { profileId, streams } = request
  const { externalId, state, parcels } = here
  return {
    profile: { profileId, externalId, state, waiting: parcels.size > 0 ? pushed : [] },
    due: pulled
      .filter(({ name }) => !streams || streams.includes(name))
      .flatMap((stream) => dueOfStream(here, stream, request, planning)),
  }
}

function dueOfStream(here: ModelProfile, stream: PulledStream, request: PlanRequest, planning: Planning): DueWindow[] {
  const row = here.ledger.get(stream.name)
  if (!row) return []
  const tags = row.tagged ? here.tags.filter((one) => one.stream === stream.name) : undefined
  const windowsOf = (held: readonly Span[]) => held.map(({ startMs, endMs }) => ({ startMs, endMs }))
  const isWindowed = stream.kind === 'windowed'
  const input: PlanInput = {
    wanted: request.range ?? { startMs: here.wantedFromMs, endMs: request.nowMs + (isWindowed ? AHEAD_MS : 0) },
    covered: request.again ? [] : row.covered,
    blocked: blockedSpans(here, stream, request.nowMs, planning),
    sizeMs: stream.windowMs,
    tagged: tags && isWindowed ? { windows: windowsOf(tags), aheadMs: request.range ? 0 : SAME_WINDOW_MS } : undefined,
    windowsMax: WINDOWS_MAX,
  }
  const windows = dueWindows(input)
  planning.onPlan(input, windows)
  return (isWindowed ? windows : hullOf(windows)).map((window) => {
    const span = taggedSpanOf(stream, window)
    const held = tags?.find(({ startMs, endMs }) => startMs === span.startMs && endMs === span.endMs)
    const isAlike = held !== undefined && held.requestHash === requestHashOf(stream, window)
    return { stream, window, generation: row.generation, heldTag: isAlike ? held.tag : undefined }
  })
}

/** One reading of a snapshot answers for everything that is due. */
function hullOf(windows: readonly Span[]): Span[] {
  const [newest, oldest] = [windows[0], windows.at(-1)]
  return newest && oldest ? [{ startMs: oldest.startMs, endMs: newest.endMs }] : []
}

function blockedSpans(here: ModelProfile, stream: PulledStream, nowMs: number, planning: Planning): Span[] {
  const refused = here.refusals
    .filter((one) => one.stream === stream.name && one.nextTryMs > planning.databaseNowMs)
    .map(({ window, lastMs }) =>
      // A window that reached up to the moment of the refusal: later time is refused as well.
      window.endMs < lastMs - SHIFTED_MS ? window : { startMs: window.startMs, endMs: Number.POSITIVE_INFINITY },
    )
  const row = here.ledger.get(stream.name)
  return row && isYoung(here, row, nowMs, planning) ? [...refused, ...row.unread] : refused
}

/** In the first moments after a push there is little use in reading. */
function isYoung(here: ModelProfile, row: LedgerRow, nowMs: number, { settle }: ProcessSettings): boolean {
  const [firstReadingMs = 0] = settle.intervalsMs
  return (row.touchedAtMs ?? 0) > nowMs - firstReadingMs && (row.readAtMs ?? here.addedMs) > nowMs - UNREAD_MAX_MS
}
