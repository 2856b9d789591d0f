import type { Log } from '../../base/log.ts'
import { listWaitingNames } from '../store/sample-profiles.ts'
import type { ServicePool } from '../store/service-pool.ts'

/** Delays the derivation of each profile, by the machine's clock: a move of the sandbox's clock does not shorten a delay. */
export type DerivationDelay = ReturnType<typeof createDerivationDelay>

type DerivationDelayOptions = {
  log: Log
  /** Milliseconds that no clock's move changes. */
  elapsedMs: () => number
  /** False: nothing is derived here, and no round is waited for. */
  derives: boolean
  closing: AbortSignal
}

/** A profile's delay begins at the first round that finds it waiting, and ends with its derivation. */
export function createDerivationDelay(pool: ServicePool, options: DerivationDelayOptions) {
  const { log, elapsedMs, derives, closing } = options
  let delayOfAllMs = 0
  const delaysMs = new Map<string, number>()
  const waitingSinceMs = new Map<string, number>()
  let nextRound = Promise.withResolvers<void>()
  closing.addEventListener('abort', () => nextRound.resolve())

  const read = () => ({ delayMs: delayOfAllMs, profiles: Object.fromEntries(delaysMs) })
  const changed = async () => {
    if (derives && !closing.aborted) await nextRound.promise
    return read()
  }

  const profilesOver = async (): Promise<string[]> => {
    const nowMs = elapsedMs()
    const waiting = await listWaitingNames(pool)
    const present = new Set(waiting.map(({ profileId }) => profileId))
    for (const profileId of waitingSinceMs.keys()) if (!present.has(profileId)) waitingSinceMs.delete(profileId)
    return waiting.flatMap(({ profileId, externalId }) => {
      const sinceMs = waitingSinceMs.get(profileId) ?? nowMs
      waitingSinceMs.set(profileId, sinceMs)
      return nowMs - sinceMs >= (delaysMs.get(externalId) ?? delayOfAllMs) ? [profileId] : []
    })
  }

  return {
    /**
     * Sets the delay of the named profiles, or of all that have none of their own. Resolves when no round of the derivation
     * is under way that began before: a later upload is then derived after the delay, never before.
     */
    set: ({ delayMs, profiles }: { delayMs: number; profiles?: readonly string[] | undefined }) => {
      if (profiles === undefined) delayOfAllMs = delayMs
      else for (const externalId of profiles) delaysMs.set(externalId, delayMs)
      return changed()
    },
    clear: () => {
      delayOfAllMs = 0
      delaysMs.clear()
      return changed()
    },
    /** The delay of all profiles, and the delays of single profiles by externalId. */
    read,
    /** The profiles whose delay is over; null when none is delayed. Asked at the beginning of each round. */
    mayDerive: async () => {
      nextRound.resolve()
      nextRound = Promise.withResolvers()
      if (delayOfAllMs === 0 && delaysMs.size === 0) return null
      return profilesOver().catch((error: { code?: string }) => {
        log.warn({ code: error.code }, 'could not list the profiles that wait: derives none')
        return []
      })
    },
  }
}
