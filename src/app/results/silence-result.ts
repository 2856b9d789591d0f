import { z } from 'zod'
import { logKinds } from '../../base/contract/log-evidence.ts'
import { silenceStates } from '../../pipeline/ledger/silence.ts'
import { silenceGroupings } from '../../pipeline/warehouse/silence/list-silence.ts'
import { count, instant, share } from './result-fields.ts'

const subject = z.enum(['all', 'upstream', ...logKinds])

/** The public shape of the output of `profiles silent --json`: of a person, of a group, of a change. */
export const silenceResult = z.union([
  z.strictObject({
    externalId: z.string(),
    kind: subject,
    state: z.enum(silenceStates),
    lastAt: instant,
    lastDay: z.string().nullable(),
    lastKinds: z.array(z.string()),
    device: z.string().nullable(),
    silentHours: count,
    usualHours: count.nullable(),
    longHours: count.nullable(),
    unusual: share.nullable(),
  }),
  z.strictObject({
    by: z.enum(silenceGroupings),
    name: z.string(),
    people: count,
    silent: count,
    since: instant.nullable(),
  }),
  z.strictObject({
    externalId: z.string(),
    kind: subject,
    at: instant,
    from: z.enum(silenceStates).nullable(),
    to: z.enum(silenceStates).nullable(),
  }),
])
