/**
 * One thing that was looked at by `vitalsync doctor`. `note` is worth knowing and needs nothing done; `wrong` must be
 * mended, and `hint` says how; `unreachable` could not be looked at.
 */
export type Finding = {
  readonly subject: string
  readonly state: 'well' | 'note' | 'wrong' | 'unreachable'
  readonly text: string
  readonly hint?: string
}

/** Above this the queue would take healthy jobs for dead ones. */
export const skewMaxSeconds = 30

/** `aheadMs`: how far the other clock is ahead of ours. */
export function clockFinding(subject: string, aheadMs: number): Finding {
  const seconds = Math.abs(aheadMs) / 1000
  const text = `its clock is ${seconds.toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`
  if (seconds <= skewMaxSeconds) return { subject, state: 'well', text }
  return { subject, state: 'wrong', text, hint: `Set both clocks by NTP: up to ${skewMaxSeconds} s are borne.` }
}
