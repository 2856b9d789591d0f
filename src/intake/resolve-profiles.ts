import { newExternalIdSchema } from '../base/contract/authentication.ts'
import type { Catalogue } from '../pipeline/transfer/stream.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../pipeline/warehouse/profiles/stored-profiles.ts'
import { createProfileReport } from '../pipeline/warehouse/reports/profile-report.ts'
import type { ImportTarget } from './import-rows.ts'

/** How unknown profiles are added. */
type Adding = {
  /** From then on the data of added profiles is wanted. */
  readonly wantedFrom: Date
  /** Reports the profiles that would be added, and adds none. */
  readonly isRehearsal: boolean
  /** Given: only people that upstream knows, or that were registered from here, exist. Only they are added or taken. */
  readonly isKnownUpstream?: ((externalId: string) => Promise<boolean>) | undefined
}

/** Finds the profiles of imported lines, and says of each unknown profile why its lines are rejected. Without `adding` none is added. */
export function createProfileResolver(
  options: { readonly pool: Pool; readonly catalogue: Catalogue; readonly tokenKeys: readonly Buffer[] },
  adding: Adding | undefined,
) {
  const profiles = createProfiles(options)
  const { idsOf, registeredIdsOf } = createProfileReport(options)
  const added = new Set<string>()
  const addUnknown = async (externalIds: readonly string[], { wantedFrom, isRehearsal, isKnownUpstream }: Adding) => {
    const answers = await Promise.all(externalIds.map(async (id) => (await isKnownUpstream?.(id)) !== false))
    const addable = externalIds.filter((_, index) => answers[index])
    const state = isKnownUpstream ? 'active' : 'new'
    const before = await idsOf(addable)
    if (!isRehearsal && addable.length > 0) await profiles.add(addable, { wantedFrom, state })
    const ids = isRehearsal ? new Map([...addable.map((id) => [id, NOBODY] as const), ...before]) : await idsOf(addable)
    for (const externalId of ids.keys()) if (!before.has(externalId)) added.add(externalId)
    return ids
  }
  const faultOf = (externalId: string, isErased: boolean) => {
    const { error } = newExternalIdSchema.safeParse(externalId)
    if (error) return `externalId: ${error.issues[0]?.message}`
    if (isErased) return ERASED_FAULT
    return adding ? UNKNOWN_UPSTREAM_FAULT : UNKNOWN_FAULT
  }
  const resolve: ImportTarget['resolve'] = async (externalIds) => {
    let ids = await (adding?.isKnownUpstream ? registeredIdsOf : idsOf)(externalIds)
    const unknown = externalIds.filter((externalId) => !ids.has(externalId))
    const erased = unknown.length > 0 ? await profiles.erasedAmong(unknown) : new Set()
    const addable = unknown.filter((id) => !erased.has(id) && newExternalIdSchema.safeParse(id).success)
    if (adding && addable.length > 0) ids = new Map([...ids, ...(await addUnknown(addable, adding))])
    return new Map(
      externalIds.map((externalId) => {
        const profileId = ids.get(externalId)
        return [
          externalId,
          profileId === undefined ? { fault: faultOf(externalId, erased.has(externalId)) } : { profileId },
        ]
      }),
    )
  }
  return { resolve /** The externalIds that were added so far. */, added }
}

/** The id of nobody: the ids of profiles are positive. */
const NOBODY = '0'
const ERASED_FAULT = 'externalId: was erased, and erased people are not brought back'
const UNKNOWN_FAULT =
  'externalId: is not known here; take it in with vitalsync profiles add, or import with --add-profiles'
const UNKNOWN_UPSTREAM_FAULT =
  'externalId: is not known upstream; correct it, or import without --must-exist, and the next sync registers it'
