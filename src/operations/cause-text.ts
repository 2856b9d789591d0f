import { formatCount } from '../base/text/readable.ts'
import type { CauseEvidence, EmptyCause } from '../pipeline/ledger/empty-causes.ts'

/** The meaning of each cause, for a list of many days. */
export const causeMeanings: Readonly<Record<EmptyCause, string>> = {
  nothing_sent: 'no log touches the day, though logs of the person pass through us: was the phone off, or away?',
  sent_late_expected: 'no log yet, and the usual delay of the person has not passed: wait',
  not_worn: 'something was sent, and too few hours prove that a device was worn: remind the person',
  partly_sent: 'the device was worn, and a usual kind of log did not come: ask for the permission, or for the sensor',
  sent_not_derived: 'enough was sent and accepted, and upstream has nothing: ask upstream',
  not_through_us: 'no log of the person passes through us: look at who sends them',
  unknown: 'the logs that were handed in do not say why',
}

/** The reasons of a cause in one sentence. */
export function causeSentence(cause: EmptyCause, evidence: CauseEvidence): string {
  const { before, after, usualDelayHours, expectedAt, wornMinutes = 0, wornHours = 0, missing = [] } = evidence
  const neighbours = [
    ...(before === undefined ? [] : [`the last day with logs before it is ${before}`]),
    ...(after === undefined ? [] : [`the next is ${after}`]),
  ]
  const worn = `${formatCount(wornMinutes, 'minute')} in ${formatCount(wornHours, 'hour')} of the day prove that a device was worn`
  const kinds = (evidence.kinds ?? []).join(', ')
  const sentences: Readonly<Record<EmptyCause, string>> = {
    nothing_sent: ['no log of any kind touches the day', ...neighbours].join('; '),
    sent_late_expected: `no log yet; logs of this person usually come ${usualDelayHours} hours after the day, and are expected until ${expectedAt?.slice(0, 16).replace('T', ' ')} UTC`,
    not_worn: `logs were sent (${kinds}), and only ${worn}`,
    partly_sent: `logs were sent (${kinds}) and the device was worn, and ${missing.map(({ kind, last }) => `${kind}, which came last on ${last},`).join(' and ')} did not come`,
    sent_not_derived: `enough was sent and accepted (${kinds}), and upstream made nothing of it`,
    not_through_us: 'no log of this person passed through us in the days around it',
    unknown: unknownReason(evidence, kinds),
  }
  return sentences[cause]
}

function unknownReason({ waiting, refused }: CauseEvidence, kinds: string): string {
  if (waiting) return `logs were handed in (${kinds}), and some wait to be pushed`
  if (refused) return `logs were handed in (${kinds}), and upstream refused some`
  if (kinds === '') return 'what was handed in does not say why'
  return `logs were sent (${kinds}), and do not say why nothing came of them`
}

/** The step that helps where a day is empty. Undefined: the day may be read again, no more. */
export function causeStep(cause: EmptyCause, { parcels, refused }: CauseEvidence): string | undefined {
  const steps: Readonly<Partial<Record<EmptyCause, string>>> = {
    nothing_sent: 'ask the person whether the phone was off, away or without a connection',
    sent_late_expected: 'nothing to do: wait for the logs',
    not_worn: 'remind the person to wear the device',
    partly_sent: 'ask the person to allow this kind of data again, or to have the sensor looked at',
    sent_not_derived: `ask upstream, with the logs of the parcels: vitalsync.items where parcel_id between ${parcels?.join(' and ')}`,
    not_through_us: 'look at the sender of this person’s data: what upstream has is all we know',
  }
  return cause === 'unknown' && refused ? 'vitalsync quarantine list shows what upstream refused' : steps[cause]
}
