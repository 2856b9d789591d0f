import { createBatcher } from '../../../base/postgres/batcher.ts'
import { sqlState } from '../../../base/postgres/postgres-errors.ts'
import type { TokenName } from '../../fleet/tokens.ts'
import { isDataException } from '../postgres/sql-errors.ts'
import { type Pool, queryByIndex } from '../postgres/warehouse-pool.ts'

export type TokenRow = {
  readonly generation: string
  readonly sealed: Buffer | null
  readonly issued_ms: number | null
  readonly expires_ms: number | null
  readonly refresh_taken: number
  readonly proven: boolean
  readonly unproven_before: number
  readonly broken_reason: string | null
  readonly broken_until_ms: number | null
  readonly broken_now: boolean
  readonly broken_openings: number
}

type LeaseAsk = {
  readonly name: TokenName
  readonly holder: string
  readonly leaseMs: number
  /** The newest generation that the asker knows. */
  readonly generation: number
}

type SealedToken = {
  readonly name: TokenName
  readonly holder: string
  /** As it was leased. */
  readonly leasedGeneration: number
  readonly sealed: Buffer
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

/** Rows of tokens. Calls at the same time share a statement, and so few connections. */
export type TokenRows = ReturnType<typeof openTokenRows>

const TOKENS_PER_STATEMENT = 100

/** Rows are locked in one order, so that processes never wait for one another in a circle. */
export function openTokenRows(pool: Pool) {
  const batched = <In, Out>(
    nameOf: (item: In) => TokenName,
    run: (items: readonly In[]) => Promise<readonly Out[]>,
  ): ((item: In) => Promise<Out>) => {
    const settle = createBatcher({
      itemsMax: TOKENS_PER_STATEMENT,
      batchesAtOnce: 1, // a commit of many tokens costs little more than a commit of one
      // A batch has tokens of profiles or tokens of accounts: their rows are found by different conditions.
      keyOf: (item: In) => (nameOf(item).profileId === undefined ? 1 : 0),
      run: (items) => settleEach(items, run),
    })
    return async (item) => {
      const settled = await settle(item)
      if (settled.status === 'rejected') throw settled.reason
      return settled.value
    }
  }
  return {
    read: batched(
      (name: TokenName) => name,
      (names) => readRows(pool, names),
    ),
    /** The row as it is leased now; undefined where it could not be leased; `erased` where there can be no row. */
    lease: batched(
      ({ name }: LeaseAsk) => name,
      (asks) => leaseRows(pool, asks),
    ),
    /** False: the lease was lost. */
    save: batched(
      ({ name }: SealedToken) => name,
      (tokens) => saveRows(pool, tokens),
    ),
  }
}

/** A batch that Postgres refuses is halved until the refused token is alone: the others lose nothing. */
async function settleEach<In, Out>(
  items: readonly In[],
  run: (items: readonly In[]) => Promise<readonly Out[]>,
): Promise<Array<PromiseSettledResult<Out>>> {
  try {
    return (await run(items)).map((value) => ({ status: 'fulfilled', value }))
  } catch (reason) {
    if (items.length === 1 || !isDataException(reason)) return items.map(() => ({ status: 'rejected', reason }))
    const middle = Math.ceil(items.length / 2)
    return [...(await settleEach(items.slice(0, middle), run)), ...(await settleEach(items.slice(middle), run))]
  }
}

const tokenColumns = `t.generation, t.sealed, t.refresh_taken, t.proven, t.unproven_before, t.broken_reason, t.broken_openings,
  extract(epoch from t.issued_at)::float8 * 1000 as issued_ms,
  extract(epoch from t.expires_at)::float8 * 1000 as expires_ms,
  extract(epoch from t.broken_until)::float8 * 1000 as broken_until_ms,
  coalesce(t.broken_until > clock_timestamp(), false) as broken_now`

type NamedRow = { readonly account: string; readonly profile_id: string | null }

const keyOf = ({ account, profileId }: TokenName): string => `${profileId ?? ''} ${account}`
const keyOfRow = ({ account, profile_id: profileId }: NamedRow): string =>
  keyOf({ account, profileId: profileId ?? undefined })

/** The rows of a batch with these names. With `= any` each row is looked up, even if the plan was made while there were no tokens. */
function rowCondition([name]: readonly TokenName[]) {
  return name?.profileId === undefined
    ? { kind: 'account', sql: 't.account = any(array[i.account]) and t.profile_id is null' }
    : { kind: 'profile', sql: 't.account = any(array[i.account]) and t.profile_id = any(array[i.profile_id])' }
}

/** The rows that the statement returns, by the name of their token. */
async function rowsByName<R extends NamedRow>(
  pool: Pool,
  statement: { name: string; text: string; values: unknown[] },
): Promise<Map<string, R>> {
  const rows = await queryByIndex<R>(pool, statement)
  return new Map(rows.map((row) => [keyOfRow(row), row]))
}

const nameColumns = (names: readonly TokenName[]) => [
  names.map(({ account }) => account),
  names.map(({ profileId }) => profileId ?? null),
]

async function readRows(pool: Pool, names: readonly TokenName[]): Promise<Array<TokenRow | undefined>> {
  const { kind, sql } = rowCondition(names)
  const byKey = await rowsByName<NamedRow & TokenRow>(pool, {
    name: `read tokens of ${kind}s`,
    text: `select i.account, i.profile_id, ${tokenColumns}
      from unnest($1::text[], $2::int8[]) as i(account, profile_id) join vitalsync.tokens t on ${sql}`,
    values: nameColumns(names),
  })
  return names.map((name) => byKey.get(keyOf(name)))
}

const FOREIGN_KEY_VIOLATION = '23503'

async function leaseRows(
  pool: Pool,
  asks: readonly LeaseAsk[],
): Promise<ReadonlyArray<TokenRow | 'erased' | undefined>> {
  // Two askers of one token: the second has lost.
  const once = [...new Map(asks.toReversed().map((ask) => [keyOf(ask.name), ask])).values()]
  try {
    const byKey = await leaseOnce(pool, once)
    return asks.map((ask) => (once.includes(ask) ? byKey.get(keyOf(ask.name)) : undefined))
  } catch (error) {
    if (sqlState(error) !== FOREIGN_KEY_VIOLATION || asks.length > 1) throw error
    return ['erased']
  }
}

/** `refresh_taken` counts the leases of a generation. */
function leaseOnce(pool: Pool, asks: readonly LeaseAsk[]): Promise<Map<string, NamedRow & TokenRow>> {
  const names = asks.map(({ name }) => name)
  const { kind, sql } = rowCondition(names)
  return rowsByName(pool, {
    name: `lease tokens of ${kind}s`,
    text: `with i as (
        select account, profile_id, holder, clock_timestamp() + lease_ms * interval '1 ms' as lease_until, known
        from unnest($1::text[], $2::int8[], $3::uuid[], $4::float8[], $5::int8[]) as u(account, profile_id, holder, lease_ms, known)
        order by u.profile_id, u.account
      ), renewed as (
        update vitalsync.tokens t
        set lease_holder = i.holder, lease_until = i.lease_until, refresh_taken = t.refresh_taken + 1
        from i where ${sql} and t.generation <= i.known
          and (t.lease_until is null or t.lease_until <= clock_timestamp())
          and (t.broken_until is null or t.broken_until <= clock_timestamp())
        returning t.account, t.profile_id, ${tokenColumns}
      ), first as (
        insert into vitalsync.tokens as t (account, profile_id, lease_holder, lease_until, refresh_taken)
        select i.account, i.profile_id, i.holder, i.lease_until, 1 from i
        where not exists (select from vitalsync.tokens t where ${sql})
        on conflict do nothing
        returning t.account, t.profile_id, ${tokenColumns}
      )
      select * from renewed union all select * from first`,
    values: [
      ...nameColumns(names),
      asks.map(({ holder }) => holder),
      asks.map(({ leaseMs }) => leaseMs),
      asks.map(({ generation }) => generation),
    ],
  })
}

async function saveRows(pool: Pool, tokens: readonly SealedToken[]): Promise<boolean[]> {
  const names = tokens.map(({ name }) => name)
  const { kind, sql } = rowCondition(names)
  const rows = await queryByIndex<{ n: number }>(pool, {
    name: `save tokens of ${kind}s`,
    text: `update vitalsync.tokens t
      set generation = t.generation + 1, sealed = i.sealed, issued_at = to_timestamp(i.issued_ms / 1000),
        expires_at = to_timestamp(i.expires_ms / 1000), refresh_taken = 0, proven = false,
        unproven_before = case when t.proven or t.generation = 0 then 0 else t.unproven_before + 1 end,
        lease_holder = null, lease_until = null
      from (select * from unnest($1::text[], $2::int8[], $3::uuid[], $4::int8[], $5::bytea[], $6::float8[], $7::float8[])
          with ordinality as u(account, profile_id, holder, leased, sealed, issued_ms, expires_ms, n)
        order by profile_id, account) i
      where ${sql} and t.lease_holder = i.holder and t.generation = i.leased
      returning i.n::int as n`,
    values: [
      ...nameColumns(names),
      tokens.map(({ holder }) => holder),
      tokens.map(({ leasedGeneration }) => leasedGeneration),
      tokens.map(({ sealed }) => sealed),
      tokens.map(({ issuedAtMs }) => issuedAtMs),
      tokens.map(({ expiresAtMs }) => expiresAtMs),
    ],
  })
  const saved = new Set(rows.map(({ n }) => n))
  return tokens.map((_, index) => saved.has(index + 1))
}
