import { z } from 'zod'
import { HOUR } from '../../../base/time/units.ts'
import { faultCatalogue, faultNames } from '../../sandbox/faults/fault-catalogue.ts'
import { faultRuleSchema } from '../../sandbox/faults/fault-rules.ts'
import { personKinds } from '../../sandbox/people/sample-person.ts'
import { countDirtyDays } from '../../store/sample-profiles.ts'
import { type ConsoleContext, type ConsoleSandbox, defineAct, defineRead } from './console-context.ts'

const JOURNAL_SHOWN = 80
const PEOPLE_SHOWN = 10_000
const HOURS_MAX = 24 * 60
const nothing = z.strictObject({})

export type SandboxState = Awaited<ReturnType<typeof readSandboxState>>

/** Everything that changes while one looks: the clock, the rules, the newest requests, the days still to be derived. */
async function readSandboxState({ reads }: Pick<ConsoleContext, 'reads'>, { control }: ConsoleSandbox) {
  const { clock, faults, journal } = control
  const { requests, tokenCalls } = journal.read()
  return {
    at: new Date(clock.nowMs()),
    aheadMs: Math.round(clock.aheadMs()),
    daysToDerive: await countDirtyDays(reads),
    people: control.people().length,
    faults: faults.list(),
    requests,
    tokenCalls,
    newest: journal.last(JOURNAL_SHOWN).toReversed(),
  }
}

export type CastAnswer = Awaited<ReturnType<typeof readCast>>

const readCast = async ({ control }: ConsoleSandbox) => ({
  kinds: personKinds,
  people: control.people().slice(0, PEOPLE_SHOWN),
  faults: faultNames.map((name) => ({ name, ...faultCatalogue[name] })),
})

/** In the sandbox only. Each does what a control route does. */
export const sandboxRoutes = (sandbox: ConsoleSandbox) => {
  const { control } = sandbox
  return [
    defineRead({ name: 'sandbox', query: nothing, answer: (context) => readSandboxState(context, sandbox) }),
    defineRead({ name: 'cast', query: nothing, answer: () => readCast(sandbox) }),
    defineAct({
      name: 'people/make',
      body: z.strictObject({ kind: z.enum(personKinds), count: z.int().min(1).max(10) }),
      act: async (_context, { kind, count }) => ({ made: await control.makePeople(kind, count) }),
    }),
    defineAct({
      name: 'clock/live',
      body: z.strictObject({ hours: z.number().min(0).max(HOURS_MAX) }),
      act: (_context, { hours }) => control.live(hours * HOUR),
    }),
    defineAct({
      name: 'clock/move',
      body: z.strictObject({ hours: z.number().min(-HOURS_MAX).max(HOURS_MAX) }),
      act: async (_context, { hours }) => control.clock.advance(hours * HOUR),
    }),
    defineAct({ name: 'clock/reset', body: nothing, act: async () => control.clock.reset() }),
    defineAct({
      name: 'faults/add',
      body: faultRuleSchema,
      act: async (_context, rule) => control.faults.add(rule),
    }),
    defineAct({
      name: 'faults/remove',
      body: z.strictObject({ name: z.enum(faultNames) }),
      act: async (_context, { name }) => control.faults.remove(name),
    }),
    defineAct({ name: 'faults/clear', body: nothing, act: async () => control.faults.set([]) }),
    defineAct({ name: 'journal/clear', body: nothing, act: async () => control.journal.clear() }),
  ]
}
