import { formatNumber } from '../../base/text/readable.ts'

/** The words of commands, help and pages for a retry, a replay and a discard. */

export const dueNow = 'due now: the next sweep or sync takes them; failed back-fills are enqueued again'
export const discardedFailures = 'windows among them stay gaps, and are asked for again only after a retry'
export const onlyAfterRetry = 'only after a retry'

const AT_ONCE = 'at once: vitalsync sync.'

/** `due`: the failures that a sweep repeats; `enqueued`: the failures of back-fills. Empty where nothing was retried. */
export const retriedText = ({ due, enqueued }: { readonly due: number; readonly enqueued: number }): string =>
  [
    ...(due > 0 ? [`${formatNumber(due)} due now, for the next sweep; ${AT_ONCE}`] : []),
    ...(enqueued > 0 ? [`${formatNumber(enqueued)} enqueued again: they wait for a worker.`] : []),
  ].join(' ')

type Replayed = { readonly pushed: number; readonly stored: number; readonly reread: number }

/** Empty where nothing was replayed. */
export const replayedText = ({ pushed, stored, reread }: Replayed): string =>
  [
    ...(stored > 0 ? [`${formatNumber(stored)} fit now, and are stored.`] : []),
    ...(pushed > 0 ? [`${formatNumber(pushed)} to be pushed again.`] : []),
    ...(reread > 0 ? [`${formatNumber(reread)} to be read again.`] : []),
    ...(pushed + reread > 0 ? [`The next sweep does it; ${AT_ONCE}`] : []),
  ].join(' ')

type Failure = { readonly kind: 'job' | 'window'; readonly status: number | null; readonly nextTryAt: unknown }

const again = 'It is tried again automatically; vitalsync failures retry does not wait for that time.'

/** The advice to the operator. */
export function adviceFor({ kind, status, nextTryAt }: Failure): string {
  if (kind === 'window' && nextTryAt === null)
    return `It was discarded, and is asked for again ${onlyAfterRetry}: vitalsync failures retry.`
  if (nextTryAt === null) return 'Correct the cause that the reason names, then: vitalsync failures retry.'
  if (kind === 'job') return `Correct the cause that the reason names. ${again}`
  if (status === 404) return 'Upstream does not know this profile or this kind of data: see vitalsync profiles show.'
  if (status === 400 || status === 422)
    return 'Upstream rejects the request itself: show its operator the reason, or discard the failure.'
  if (status !== null && status >= 300 && status < 400)
    return 'Upstream redirects this window; redirects are not followed. Is UPSTREAM_URL the final address? Else show its operator the reason.'
  if (status !== null && status >= 400 && status < 500)
    return `Upstream refuses the window: correct the cause there. ${again}`
  return `Upstream gave no usable answer. ${again}`
}
