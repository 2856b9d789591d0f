import { catalogue } from '../../config/streams.ts'
import type { CloseStack } from '../base/close-stack.ts'
import { NotThere } from '../base/errors.ts'
import { formatCount } from '../base/text/readable.ts'
import { DAY } from '../base/time/units.ts'
import { createProfileResolver } from '../intake/resolve-profiles.ts'
import { asTyped } from '../operations/select-profiles.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
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
      const people = createProfileResolver({ pool, catalogue, tokenKeys }, addProfiles ? adding : undefined)
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
    const people = createProfileResolver({ pool, catalogue, tokenKeys }, { ...adding, isKnownUpstream })
    return work({ pool, closeStack, people })
  })
}

const NAMES_SHOWN_MAX = 5

/** The line of a report about the profiles that an import added. */
export function addedPeopleLines(added: readonly string[], { mustExist }: Pick<NewPeopleOptions, 'mustExist'>) {
  if (added.length === 0) return []
  const names = added.slice(0, NAMES_SHOWN_MAX).map(asTyped).join(', ')
  const more = added.length > NAMES_SHOWN_MAX ? ', and others' : ''
  const next = mustExist ? '' : '. The next sync registers those that upstream does not know'
  return [`${formatCount(added.length, 'profile')} added: ${names}${more}${next}.`]
}
