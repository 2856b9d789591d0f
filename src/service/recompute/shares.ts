import { SECOND } from '../../base/time/units.ts'
import type { WaitingProfile } from '../store/waiting-profiles.ts'

/** Recent derivation time of accounts and profiles, by which the next profile is chosen (fair queueing). */
export type Shares = ReturnType<typeof createShares>

/** The half-life of used derivation time. */
const halfLifeMs = 5 * SECOND
/** Differences below this are ignored. */
const noticedMs = 100
const remembered = 10_000

/** `elapsedMs` only grows, whatever happens to the clock. */
export function createShares(elapsedMs: () => number) {
  const taken = new Map<string, { ms: number; atMs: number }>()
  const takenOf = (id: string) => {
    const share = taken.get(id)
    return share ? share.ms * 2 ** ((share.atMs - elapsedMs()) / halfLifeMs) : 0
  }
  /** Recent time in steps that double: among nearly equal shares the profile that waits longest comes first. */
  const stepOf = (id: string) => Math.floor(Math.log2(1 + takenOf(id) / noticedMs))

  const byShare = (candidates: readonly WaitingProfile[], compare: (a: WaitingProfile, b: WaitingProfile) => number) =>
    candidates
      .map((candidate) => ({ candidate, account: stepOf(candidate.accountId), share: stepOf(candidate.profileId) }))
      .sort((a, b) => a.account - b.account || a.share - b.share || compare(a.candidate, b.candidate))
      .map(({ candidate }) => candidate.profileId)

  return {
    charge: ({ accountId, profileId }: Pick<WaitingProfile, 'accountId' | 'profileId'>, ms: number) => {
      if (taken.size >= remembered) taken.clear()
      for (const id of [accountId, profileId]) taken.set(id, { ms: takenOf(id) + ms, atMs: elapsedMs() })
    },
    /**
     * The account, then the profile, with the least recent time comes first. Among equals the profile that waits longest
     * alternates with the least recently derived profile among the profiles with few marked days.
     */
    order: (waiting: readonly WaitingProfile[]) => {
      const since = (a: WaitingProfile, b: WaitingProfile) => compareNumbers(a.sinceMs, b.sinceMs)
      const last = ({ asOfMs }: WaitingProfile) => asOfMs ?? Number.NEGATIVE_INFINITY
      const longest = byShare(
        waiting.filter(({ isFresh }) => !isFresh),
        (a, b) => since(a, b) || (a.profileId < b.profileId ? -1 : 1),
      )
      const fresh = byShare(
        waiting.filter(({ isFresh }) => isFresh),
        (a, b) => compareNumbers(last(a), last(b)) || since(b, a) || (a.profileId < b.profileId ? -1 : 1),
      )
      const alternating = longest.flatMap((profileId, index) => [profileId, fresh[index] ?? profileId])
      return [...new Set([...alternating, ...fresh])]
    },
  }
}

/** Also for two infinite numbers, whose difference is NaN. */
function compareNumbers(a: number, b: number): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
