import type { TokenCall, WitnessedToken } from './history.ts'
import { eventsOf, type RunSeen, type Violation } from './rules.ts'

/**
 * One renewal for each generation of a token: a lease is given while no other one runs, each token that upstream gave was
 * asked for under a lease, generations follow one another, and a refresh token is spent once.
 */
export function checkTokens({ events, final }: RunSeen): Violation[] {
  const steps = final.witnessed.filter((row): row is WitnessedToken => row.kind === 'token')
  const perToken = Map.groupBy(steps, ({ profileId }) => profileId)
  const calls = eventsOf(events, 'token')
  const ids = idsByName({ events, final })
  const given = calls.filter(({ outcome }) => outcome === 'acknowledged')
  // Under one lease a refresh, and where its answer did not come through, a token by the account.
  const unleased = [...Map.groupBy(given, ({ name, call }) => `${call} ${name}`)].flatMap(([text, its]) => {
    const leases = (perToken.get(ids.get(its[0]?.name ?? '') ?? '') ?? []).filter(({ step }) => step === 'lease').length
    const counts = `${text}: ${its.length} tokens under ${leases} leases`
    return its.length > leases ? [violation('token renewed without a lease', counts)] : []
  })
  return [...[...perToken].flatMap(([name, its]) => checkSteps(name, its)), ...unleased, ...checkSpent(calls)]
}

const violation = (rule: Violation['rule'], text: string): Violation => ({ rule, text })

function idsByName({ events, final }: RunSeen): Map<string, string> {
  const people = [...eventsOf(events, 'erasure'), ...final.profiles]
  return new Map([['account', 'account'], ...people.map(({ profile, profileId }) => [profile, profileId] as const)])
}

function checkSteps(name: string, steps: readonly WitnessedToken[]): Violation[] {
  const found: Violation[] = []
  let generation = 0
  for (const { step, atMs, formerUntilMs, ...row } of steps) {
    if (step === 'erase') generation = 0
    if (step === 'lease' && formerUntilMs !== null && formerUntilMs > atMs)
      found.push(violation('token leased twice', `${name}, generation ${row.generation} at ${atMs}`))
    if (step !== 'save') continue
    if (row.generation !== generation + 1)
      found.push(violation('generation stored twice', `${name}: ${row.generation} after ${generation}`))
    generation = row.generation
  }
  return found
}

function checkSpent(calls: readonly TokenCall[]): Violation[] {
  const spent = Map.groupBy(
    calls.filter((call) => call.spent !== undefined),
    (call) => call.spent,
  )
  return [...spent.values()].flatMap((its) =>
    its.length > 1 ? [violation('refresh token spent twice', `${its[0]?.name}, ${its.length} times`)] : [],
  )
}
