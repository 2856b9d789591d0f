import { type Pool, withTransaction } from './pool.ts'

/**
 * Says whose word counts first among an account's people, and makes everybody due who was derived before, in the same
 * transaction; their days are marked when their turn comes. Answers how many; undefined when there is no such account.
 */
export async function setSourcePriority(
  pool: Pool,
  { account, sources, now }: { account: string; sources: readonly string[]; now: Date },
): Promise<{ profiles: number } | undefined> {
  return withTransaction(pool, async (tx) => {
    const { rows } = await tx.query<{ account_id: string; source_priority: string[] }>(
      'select account_id, source_priority from service.accounts where name = $1 for no key update',
      [account],
    )
    const found = rows[0]
    if (!found) return undefined
    const before = found.source_priority
    if (JSON.stringify(before) === JSON.stringify(sources)) return { profiles: 0 }
    await tx.query('update service.accounts set source_priority = $2 where account_id = $1', [
      found.account_id,
      sources,
    ])
    // A mark, not a due_at: a derivation that is under way with the old order eats only marks it saw.
    const { rowCount } = await tx.query(
      `insert into service.dirty_days (profile_id, local_day, marked_at)
       select profile_id, d.as_of::date, $2 from service.derivations d join service.profiles p using (profile_id)
       where p.account_id = $1 order by profile_id
       on conflict (profile_id, local_day) do update set mark = excluded.mark`,
      [found.account_id, now],
    )
    return { profiles: rowCount ?? 0 }
  })
}

export async function readSourcePriority(pool: Pool, account: string): Promise<string[] | undefined> {
  const { rows } = await pool.query<{ source_priority: string[] }>(
    'select source_priority from service.accounts where name = $1',
    [account],
  )
  return rows[0]?.source_priority
}
