import { type ServicePool, withTransaction } from './service-pool.ts'

/**
 * Sets which source wins where two sources of one profile overlap, for all profiles of an account. In the same
 * transaction every profile that was derived before becomes due; its days are marked when it is derived next. Returns
 * how many profiles became due; undefined when no such account exists.
 */
export async function setSourcePriority(
  pool: ServicePool,
  { account, sources, nowAt }: { account: string; sources: readonly string[]; nowAt: Date },
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
    // A mark, not a due_at: a derivation that still runs with the old order deletes only marks that it read.
    const { rowCount } = await tx.query(
      `insert into service.dirty_days (profile_id, local_day, marked_at)
       select profile_id, d.as_of::date, $2 from service.derivations d join service.profiles p using (profile_id)
       where p.account_id = $1 order by profile_id
       on conflict (profile_id, local_day) do update set mark = excluded.mark, is_single = false`,
      [found.account_id, nowAt],
    )
    return { profiles: rowCount ?? 0 }
  })
}

export async function readSourcePriority(pool: ServicePool, account: string): Promise<string[] | undefined> {
  const { rows } = await pool.query<{ source_priority: string[] }>(
    'select source_priority from service.accounts where name = $1',
    [account],
  )
  return rows[0]?.source_priority
}
