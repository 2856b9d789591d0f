import { MINUTE, SECOND } from './units.ts'

/** How far a run is at an instant, in jobs and in items that they push. */
export type RunProgress = {
  readonly atMs: number
  readonly jobsDone: number
  readonly itemsDone: number
  readonly jobsLeft: number
  readonly itemsLeft: number
  /** The most items that one job has left: a job pushes alone, however many workers there are. */
  readonly itemsOfLongestJob: number
  /** How many jobs run at once. */
  readonly jobsAtOnce: number
}

/**
 * The work of a job in requests: it reads some windows of every stream, and sends a request for each parcel of its items.
 * The jobs of a run differ by a factor of a thousand, so a count of jobs says little.
 */
const REQUESTS_PER_JOB = 10
const ITEMS_PER_REQUEST = 90
const workOf = (jobs: number, items: number) => jobs * REQUESTS_PER_JOB + items / ITEMS_PER_REQUEST

/** Only the pushed items of a running job are known: on average each job is half through the rest. */
const partDone = ({ jobsAtOnce }: RunProgress) => (jobsAtOnce * REQUESTS_PER_JOB) / 2

/**
 * The rate is measured over the last part of the run, for upstream may slow us down; but over all of it until some rounds
 * of jobs have ended, for at first all jobs do the same.
 */
const RECENT_SHARE = 0.5
const RECENT_MIN_MS = MINUTE
const ROUNDS_MIN = 2
const SAMPLE_EVERY_MS = SECOND
const SAMPLES_MAX = 600

/** `jobMs`: the time that all jobs took together until then. */
type Sample = { readonly atMs: number; readonly done: number; readonly jobMs: number }

/** Estimates by the recent rate of work of one job. Keeps at most SAMPLES_MAX samples. */
export function createTimeLeft() {
  let samples: Sample[] = []
  let sampleEveryMs = SAMPLE_EVERY_MS
  let last: Sample | undefined

  const keep = (sample: Sample) => {
    const newest = samples.at(-1)
    if (newest && sample.atMs - newest.atMs < sampleEveryMs) return
    samples.push(sample)
    if (samples.length <= SAMPLES_MAX) return
    // The longer a run takes, the farther apart its samples may be: always a small part of its duration.
    samples = samples.filter((_, index) => index % 2 === 0)
    sampleEveryMs *= 2
  }
  const startOfRate = ({ atMs, jobsDone, jobsAtOnce }: RunProgress): Sample | undefined => {
    const [first] = samples
    if (!first || jobsDone < ROUNDS_MIN * jobsAtOnce) return first
    const recentMs = Math.max(RECENT_MIN_MS, (atMs - first.atMs) * RECENT_SHARE)
    return samples.findLast((sample) => sample.atMs <= atMs - recentMs) ?? first
  }

  return {
    /** The time that the run still takes; undefined before there is anything to go by. */
    estimate(progress: RunProgress) {
      const { atMs, jobsAtOnce } = progress
      const jobMs = last ? last.jobMs + (atMs - last.atMs) * jobsAtOnce : 0
      const done = workOf(progress.jobsDone, progress.itemsDone) + (last ? partDone(progress) : 0)
      const since = startOfRate(progress)
      last = { atMs, done, jobMs }
      keep(last)
      if (progress.jobsLeft === 0) return 0
      // Jobs may begin and end between two looks: then nobody saw how long they worked.
      const workPerJobMs = since && jobMs > since.jobMs ? (done - since.done) / (jobMs - since.jobMs) : 0
      const isBegun = progress.jobsDone + progress.itemsDone > 0
      return isBegun && workPerJobMs > 0 ? leftMs(progress, workPerJobMs) : undefined
    },
  }
}

/** All jobs share the work that is left, and the longest job does its own alone. */
function leftMs(progress: RunProgress, workPerJobMs: number): number {
  const { jobsLeft, itemsLeft, itemsOfLongestJob, jobsAtOnce } = progress
  const left = Math.max(0, workOf(jobsLeft, itemsLeft) - partDone(progress))
  const alone = workOf(1, itemsOfLongestJob) - REQUESTS_PER_JOB / 2
  return Math.max(left / Math.max(1, jobsAtOnce), alone) / workPerJobMs
}
