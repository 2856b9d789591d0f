import { catalogue } from '../../config/streams.ts'
import type { CloseStack } from '../base/close-stack.ts'
import { newExternalIdSchema } from '../base/contract/authentication.ts'
import { NotThere } from '../base/errors.ts'
import { formatCount } from '../base/text/readable.ts'
import { DAY } from '../base/time/units.ts'
import type { ImportTarget } from '../intake/import-rows.ts'
import { asTyped } from '../operations/select-profiles.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../pipeline/warehouse/profiles/stored-profiles.ts'
import { createProfileReport } from '../pipeline/warehouse/reports/profile-report.ts'
import type { CommandContext } from './terminal/command-context.ts'
import { withPipeline, withWarehouse } from './with-pipeline.ts'

/** How an import treats people who are not known here. */
export type NewPeopleOptions = {
  readonly addProfiles: boolean
  /** Adds only people that upstream knows. */
  readonly mustExist: boolean
}

type ImportWarehouse = {
  readonly pool: Pool
  readonly closeStack: CloseStack
  readonly people: ReturnType<typeof createProfileResolver>
}

/** Opens the warehouse for an import; upstream too where it is asked who exists there. */
export async function withImportWarehouse<T>(
  context: CommandContext,
  { addProfiles, mustExist, dryRun = false }: NewPeopleOptions & { readonly dryRun?: boolean },
  work: (opened: ImportWarehouse) => Promise<T>,
): Promise<T> {
  const adding = { wantedFrom: new Date(Date.now() - context.config.historyDays * DAY), isRehearsal: dryRun }
  if (!mustExist)
    return withWarehouse(context, (pool, { closeStack, tokenKeys }) => {
      const people = createProfileResolver({ pool, tokenKeys }, addProfiles ? adding : undefined)
      return work({ pool, closeStack, people })
    })
  return withPipeline(context, ({ pipeline: { pool, tokenKeys, upstream }, closeStack, signal }) => {
    const isKnownUpstream = async (externalId: string) => {
      try {
        await upstream.profile(externalId, { lane: 'manual', signal })
        return true
      } catch (error) {
        if (error instanceof NotThere) return false
        throw error
      }
    }
    const people = createProfileResolver({ pool, tokenKeys }, { ...adding, isKnownUpstream })
    return work({ pool, closeStack, people })
  })
}

const NAMES_SHOWN_MAX = 5

/** The line of a report about the profiles that an import added. */
export function addedPeopleLines(
  added: readonly string[],
  { mustExist }: Pick<NewPeopleOptions, 'mustExist'>,
): string[] {
  if (added.length === 0) return []
  const names = added.slice(0, NAMES_SHOWN_MAX).map(asTyped).join(', ')
  const more = added.length > NAMES_SHOWN_MAX ? ', and others' : ''
  const next = mustExist ? '' : '. The next sync registers those that upstream does not know'
  return [`${formatCount(added.length, 'profile')} added: ${names}${more}${next}.`]
}

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
function createProfileResolver(
  options: { readonly pool: Pool; readonly tokenKeys: readonly Buffer[] },
  adding: Adding | undefined,
) {
  const profiles = createProfiles({ ...options, catalogue })
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
