import { newExternalIdSchema } from '../base/contract/authentication.ts'
import type { Catalogue } from '../pipeline/transfer/stream.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../pipeline/warehouse/profiles/stored-profiles.ts'
import { createProfileReport } from '../pipeline/warehouse/reports/profile-report.ts'
import type { ImportTarget } from './import-rows.ts'

/**
 * Finds the profiles of imported lines, and says of each unknown profile why its lines are rejected. `addFrom`: the instant from which
 * on the data of added profiles is wanted; absent: unknown profiles are not added.
 */
export function createProfileResolver(
  options: { readonly pool: Pool; readonly catalogue: Catalogue; readonly tokenKeys: readonly Buffer[] },
  addFrom: (() => Date) | undefined,
): ImportTarget['resolve'] {
  const profiles = createProfiles(options)
  const { idsOf } = createProfileReport(options)
  return async (externalIds) => {
    let ids = await idsOf(externalIds)
    const unknown = externalIds.filter((externalId) => !ids.has(externalId))
    const addable = unknown.filter((externalId) => newExternalIdSchema.safeParse(externalId).success)
    if (addFrom && addable.length > 0) {
      await profiles.add(addable, { wantedFrom: addFrom(), state: 'new' })
      ids = await idsOf(externalIds)
    }
    const resolved: Awaited<ReturnType<ImportTarget['resolve']>> = new Map()
    for (const externalId of externalIds) {
      const profileId = ids.get(externalId)
      const fault = async () => {
        const { error } = newExternalIdSchema.safeParse(externalId)
        if (error) return `externalId: ${error.issues[0]?.message}`
        return (await profiles.isErased(externalId)) ? ERASED_FAULT : UNKNOWN_FAULT
      }
      resolved.set(externalId, profileId === undefined ? { fault: await fault() } : { profileId })
    }
    return resolved
  }
}

const ERASED_FAULT = 'externalId: was erased, and erased people are not brought back'
const UNKNOWN_FAULT =
  'externalId: is not known here; take it in with vitalsync profiles add, or import with --add-profiles'
