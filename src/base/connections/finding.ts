import { SECOND } from '../time/units.ts'

/** With a larger skew between two clocks the queue would take healthy jobs for dead ones. */
export const CLOCK_SKEW_MAX_MS = 30 * SECOND

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

export const well = (subject: string, text: string): Finding => ({ subject, state: 'well', text })

export const note = (subject: string, text: string, hint: string): Finding => ({ subject, state: 'note', text, hint })

export const wrong = (subject: string, text: string, hint: string): Finding => ({ subject, state: 'wrong', text, hint })

/** `aheadMs`: how far the other clock is ahead of ours. */
export function clockFinding(subject: string, aheadMs: number): Finding {
  const skewMs = Math.abs(aheadMs)
  const text = `its clock is ${(skewMs / SECOND).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`
  if (skewMs <= CLOCK_SKEW_MAX_MS) return well(subject, text)
  return wrong(subject, text, `Set both clocks by NTP: up to ${CLOCK_SKEW_MAX_MS / SECOND} s are borne.`)
}
