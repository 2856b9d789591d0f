import { UnknownId, UsageProblem } from '../base/errors.ts'
import { printableLine } from '../base/text/readable.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfileReport } from '../pipeline/warehouse/reports/profile-report.ts'

/** Takes a remark for the person who asked. */
export type RemarkOutput = { say(text: string): void }

/** The profiles and streams that a command is asked about, under the names of its options; none means all. */
export type Selection = { readonly profile: readonly string[]; readonly stream: readonly string[] }

/** The streams of a table that were selected, in the order of the table. */
export const selectedStreams = <S extends { readonly name: string }>(
  table: readonly S[],
  names: readonly string[],
): S[] => table.filter(({ name }) => names.length === 0 || names.includes(name))

/** A filter by a profile that is not known must not look like an answer about it. */
export async function requireKnownProfile(pool: Pool, externalId: string | undefined): Promise<void> {
  if (externalId !== undefined) await profileIdsOf(pool, [externalId])
}

const shownLengthMax = 60

/** A name as the user gave it, for the message that says what is wrong with it. */
export const asTyped = (name: string): string =>
  `"${printableLine(name.length > shownLengthMax ? `${name.slice(0, shownLengthMax)}…` : name)}"`

/** The profiles' ids in the warehouse; undefined when none is named, which means all. */
export async function profileIdsOf(pool: Pool, externalIds: readonly string[]): Promise<string[] | undefined> {
  if (externalIds.length === 0) return undefined
  const found = await createProfileReport({ pool }).idsOf(externalIds)
  const unknown = externalIds.filter((externalId) => !found.has(externalId))
  if (unknown.length === 0) return [...found.values()]
  const names = `${unknown.slice(0, 5).map(asTyped).join(', ')}${unknown.length > 5 ? ', …' : ''}`
  throw new UsageProblem(`find profiles: ${unknown.length} of ${externalIds.length} are not known here: ${names}`, {
    hint: 'Names are compared letter by letter: vitalsync profiles list. Add a profile: vitalsync profiles add.',
  })
}

export const unknownIdProblem = (what: string, listCommand: string) =>
  new UnknownId(`show ${what}: no ${what} has this id`, { hint: `The ids: ${listCommand}.` })

const nobodyText =
  'Nobody is known yet, so there is nobody to read. Take people in by name with `vitalsync profiles add <externalId>`, from a file ' +
  'with `vitalsync profiles import <file>`, or all that upstream knows with `vitalsync profiles discover`.'

/** For a command about everybody: without it "nothing missing" of nobody would look like an answer. */
export async function tellIfNobody(pool: Pool, { say }: RemarkOutput): Promise<void> {
  const { rows } = await pool.query<{ found: boolean }>('select exists (select from vitalsync.names) as found')
  if (!rows[0]?.found) say(nobodyText)
}
