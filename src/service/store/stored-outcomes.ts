import type { Queryable } from './service-pool.ts'

/** The ids of an account's profiles by their externalIds; undefined when no such account exists. */
export async function findProfileIds(
  db: Queryable,
  { account, externalIds }: { account: string; externalIds: readonly string[] },
): Promise<Map<string, string> | undefined> {
  const { rows: accounts } = await db.query<{ account_id: string }>(
    'select account_id from service.accounts where name = $1',
    [account],
  )
  if (!accounts[0]) return undefined
  const { rows } = await db.query<{ external_id: string; profile_id: string }>(
    'select external_id, profile_id from service.profiles where account_id = $1 and external_id = any($2)',
    [accounts[0].account_id, externalIds],
  )
  return new Map(rows.map((row) => [row.external_id, row.profile_id]))
}

/** The outcomes of a profile's days, from `firstDay` to `lastDay`. */
export async function readOutcomes(
  db: Queryable,
  { profileId, firstDay, lastDay }: { profileId: string; firstDay: string; lastDay: string },
): Promise<Array<{ localDay: string; outcome: string }>> {
  const { rows } = await db.query<{ localDay: string; outcome: string }>({
    name: 'read-outcomes',
    text: `select local_day::text as "localDay", outcome from service.day_facts
           where profile_id = $1 and local_day between $2 and $3 and outcome is not null order by local_day`,
    values: [profileId, firstDay, lastDay],
  })
  return rows
}
