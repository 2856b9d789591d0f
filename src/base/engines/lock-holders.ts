import { sleep } from '../sleep.ts'
import { SECOND } from '../time/units.ts'

type Session = {
  query(text: string, values?: unknown[]): Promise<{ rows: Array<Record<string, unknown>> }>
}
type Saying = { readonly say: (text: string) => void; readonly sayAfterMs?: number | undefined }

/** How long a lock is waited for before its holder is named. */
const SAY_AFTER_MS = 5 * SECOND
const TURN_POLL_MS = 100
const LOOK_EVERY_MS = SECOND

const sessionsSql = (condition: string) => `
  select a.pid, format('session %s of role %s%s%s', a.pid, coalesce(a.usename, '?'),
    coalesce(', application "' || nullif(a.application_name, '') || '"', ''),
    coalesce(format(', %s since %s s', a.state, round(extract(epoch from clock_timestamp() - a.state_change))), '')) as text
  from pg_stat_activity a where ${condition} order by a.pid`

const lockHolders = sessionsSql(`a.pid in (
  select l.pid from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and (l.classid::int8 << 32 | l.objid::int8) = hashtextextended($1, 0))`)
const blockers = sessionsSql('a.pid = any(pg_blocking_pids($1))')

const sentence = ({ pid, text }: Record<string, unknown>) =>
  `Waiting for a lock that ${text}, holds. To end that session: select pg_terminate_backend(${pid})`

/**
 * Takes the lock of this name, which stays until the session ends. Asks again and again: a statement that waits for the lock would
 * hold up an index that is made concurrently. Says after a while who holds it.
 */
export async function takeTurn(
  session: Session,
  name: string,
  { say, sayAfterMs = SAY_AFTER_MS }: Saying,
): Promise<void> {
  const isMyTurn = async () => {
    const { rows } = await session.query('select pg_try_advisory_lock(hashtextextended($1, 0)) as taken', [name])
    return rows[0]?.['taken'] === true
  }
  const said = new Set<unknown>()
  for (const sayAtMs = performance.now() + sayAfterMs; !(await isMyTurn()); await sleep(TURN_POLL_MS)) {
    if (performance.now() < sayAtMs) continue
    for (const holder of (await session.query(lockHolders, [name])).rows) {
      if (!said.has(holder['pid'])) say(sentence(holder))
      said.add(holder['pid'])
    }
  }
}

/** Says, until it is aborted, who blocks the statements of a session for long. `other` is another session of the same user. */
export async function watchBlockers(
  other: Session,
  { pid, say, sayAfterMs = SAY_AFTER_MS }: Saying & { readonly pid: number },
  signal: AbortSignal,
): Promise<void> {
  const firstSeenMs = new Map<unknown, number>()
  for (;;) {
    await sleep(Math.min(LOOK_EVERY_MS, sayAfterMs), signal)
    for (const blocker of (await other.query(blockers, [pid])).rows) {
      const sinceMs = firstSeenMs.get(blocker['pid']) ?? performance.now()
      const isLong = performance.now() - sinceMs >= sayAfterMs
      if (isLong) say(sentence(blocker))
      firstSeenMs.set(blocker['pid'], isLong ? Number.POSITIVE_INFINITY : sinceMs) // each is named once
    }
  }
}
