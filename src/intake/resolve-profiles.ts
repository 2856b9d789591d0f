import type { Profiles } from '../pipeline/warehouse/profiles/stored-profiles.ts'
import type { IntakeOptions } from './import-entries.ts'

type ResolverParts = {
  readonly profiles: Pick<Profiles, 'add' | 'isErased'>
  /** The ids in the warehouse of the profiles that are known. */
  idsOf(externalIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** From which instant on the data of profiles to be added is wanted; absent: unknown profiles are not added. */
  readonly addFrom: (() => Date) | undefined
}

/** Finds the profiles of imported lines, and says of each unknown profile why its lines are rejected. */
export function createProfileResolver({ profiles, idsOf, addFrom }: ResolverParts): IntakeOptions['resolve'] {
  return async (externalIds) => {
    let ids = await idsOf(externalIds)
    const unknown = externalIds.filter((externalId) => !ids.has(externalId))
    if (addFrom && unknown.length > 0) {
      await profiles.add(unknown, { wantedFrom: addFrom(), state: 'new' })
      ids = await idsOf(externalIds)
    }
    const resolved: Awaited<ReturnType<IntakeOptions['resolve']>> = new Map()
    for (const externalId of externalIds) {
      const profileId = ids.get(externalId)
      const fault = async () => ((await profiles.isErased(externalId)) ? ERASED_FAULT : UNKNOWN_FAULT)
      resolved.set(externalId, profileId === undefined ? { fault: await fault() } : { profileId })
    }
    return resolved
  }
}

const ERASED_FAULT = 'externalId: was erased, and erased people are not brought back'
const UNKNOWN_FAULT =
  'externalId: is not known here; take it in with vitalsync profiles add, or import with --add-profiles'
