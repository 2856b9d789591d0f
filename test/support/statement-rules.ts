/**
 * The rules by which a statement about people can be sent whole to the one node that has them, where the warehouse lies on
 * several nodes. `docs/decisions/divided-warehouse.md` gives the reasons.
 */

const tables = [
  ...['profiles', 'ledger', 'refusals', 'failures', 'quarantine', 'parcels', 'items', 'history', 'reading_tags'],
  ...['silent_differences', 'differences', 'log_days', 'empty_days', 'silence', 'silence_events', 'drift_people'],
  ...['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags', 'demographics', 'device_information'],
].join('|')

const words =
  'where|on|set|using|join|left|cross|order|group|for|and|limit|values|select|as|returning|offset|window|union'
/** A mention of a table that is read, changed or deleted from, and the name that it has in the statement. */
const mention = new RegExp(
  `\\b(from|join|update|using|,)\\s+vitalsync\\.(${tables})\\b(?:\\s+(?:as\\s+)?(?!(?:${words})\\b)(\\w+))?`,
  'gi',
)
const inserted = new RegExp(`insert\\s+into\\s+vitalsync\\.(${tables})\\b`, 'i')
const insertedInPart = new RegExp(
  `\\bas\\s+(?:not\\s+)?(?:materialized\\s+)?\\(\\s*insert\\s+into\\s+vitalsync\\.(${tables})\\b`,
  'i',
)
const changed = new RegExp(`\\b(update|delete\\s+from)\\s+vitalsync\\.(${tables})\\b`, 'i')
const locking = /\bfor\s+(no\s+key\s+)?(update|share|key\s+share)\b/i
/** A cast of a column that depends on settings, such as the time zone. */
const stableCast = /\b[a-z]\w*\.\w+::(timestamptz|tstzrange|date)\b/i
const volatileCall = /\b(clock_timestamp|random|gen_random_uuid|nextval)\s*\(/i
/** An insert may call immutable functions alone where it updates the row of a conflict. */
const conflictUpdate = /\bdo\s+update\s+set\b[\s\S]*/i
const unstableCall =
  /\b(jsonb?_build_\w+|to_jsonb?|to_char|format|concat(_ws)?|date_part|date_trunc|now|(statement|transaction|clock)_timestamp)\s*\(/i

type Mention = { readonly table: string; readonly alias: string | undefined }

function mentionsOf(text: string): Mention[] {
  return [...text.matchAll(mention)].map(([, , table = '', alias]) => ({ table, alias }))
}

/** Whether the statement names the profiles whose rows of this table it means, by a parameter. */
function isNamed(text: string, { table, alias }: Mention): boolean {
  const column = table === 'profiles' ? 'id' : 'profile_id'
  const name = alias ? `\\b${alias}\\.` : `(?<![\\w.])(?:${table}\\.)?`
  return new RegExp(`${name}${column}\\s*=\\s*(any\\s*\\(\\s*)?\\$\\d`, 'i').test(text)
}

/** The rules that a statement breaks; none in one that only reads. */
export function brokenRules(text: string): string[] {
  const mentions = mentionsOf(text)
  const isInsert = inserted.test(text)
  const isChange = changed.test(text)
  const isLock = mentions.length > 0 && locking.test(text)
  if (!isInsert && !isChange && !isLock) return []
  // A change of one table by constants alone may go to all nodes.
  const isPlain = isChange && mentions.length === 1 && !/\b(select|using|with|from\s+unnest)\b/i.test(text)
  const unnamed = isPlain ? [] : mentions.filter((mention) => !isNamed(text, mention))
  return [
    ...unnamed.map(({ table, alias }) => `does not name the profiles of vitalsync.${table}${alias ? ` ${alias}` : ''}`),
    ...(isChange && volatileCall.test(text) ? ['calls a volatile function in an update or delete'] : []),
    ...(isChange && !isInsert && stableCast.test(text) ? ['casts a column by settings in an update or delete'] : []),
    ...(isInsert && unstableCall.test(conflictUpdate.exec(text)?.[0] ?? '')
      ? ['calls a function that is not immutable where it updates the row of a conflict']
      : []),
    ...(insertedInPart.test(text) ? ['inserts in a part of the statement'] : []),
    ...(isInsert && isChange ? ['inserts and changes in one statement'] : []),
  ]
}
