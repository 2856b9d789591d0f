import { UsageProblem } from '../errors.ts'
import type { Pool } from '../warehouse/postgres/warehouse-pool.ts'
import { createProfileReport } from '../warehouse/reports/profile-report.ts'
import { exitCodes } from './command-context.ts'

/** The profiles and streams that a command is asked about; none means all. */
export type Selection = { readonly profiles: readonly string[]; readonly streams: readonly string[] }

/** The streams of a table that were selected, in the order of the table. */
export const selectedStreams = <S extends { readonly name: string }>(
  table: readonly S[],
  names: readonly string[],
): S[] => table.filter(({ name }) => names.length === 0 || names.includes(name))

/** A filter by a profile that is not known must not look like an answer about it. */
export async function requireKnownProfile(pool: Pool, externalId: string | undefined): Promise<void> {
  if (externalId !== undefined) await profileIdsOf(pool, [externalId])
}

/** The profiles' ids in the warehouse; undefined when none is named, which means all. */
export async function profileIdsOf(pool: Pool, externalIds: readonly string[]): Promise<string[] | undefined> {
  if (externalIds.length === 0) return undefined
  const found = await createProfileReport({ pool }).idsOf(externalIds)
  const unknown = externalIds.flatMap((externalId, index) => (found.has(externalId) ? [] : [index + 1]))
  if (unknown.length === 0) return [...found.values()]
  const numbers = `${unknown.slice(0, 5).join(', ')}${unknown.length > 5 ? ', …' : ''}`
  throw new UsageProblem(
    `find profiles: ${unknown.length} of ${externalIds.length} are not known here (number ${numbers})`,
    {
      hint: 'Names are compared letter by letter: vitalsync profiles list. Add a profile: vitalsync profiles add.',
    },
  )
}

export const unknownIdProblem = (what: string, listCommand: string) =>
  new UsageProblem(`show ${what}: no ${what} has this id`, { hint: `The ids: ${listCommand}.` })

/** Ids that were given and not found are a failure; a filter that matches nothing is no failure. */
export const exitCodeOfFound = (found: number, { ids }: { readonly ids?: readonly string[] | undefined }): number =>
  ids && found < new Set(ids).size ? exitCodes.failures : exitCodes.done
