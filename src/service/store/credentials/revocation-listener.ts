import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Log } from '../../../base/log.ts'
import { destroyConnection } from '../../../base/postgres/silent-server.ts'
import { SECOND } from '../../../base/time/units.ts'

type RevocationListener = {
  /** Whether a revocation by any process is heard of now: the last heartbeat came back over this line. */
  isListening(): boolean
  close(): Promise<void>
}

export type RevocationListenerOptions = {
  databaseUrl: string
  log: Log
  /** How often a heartbeat is sent, and how long it may take to come back. Set by tests only. */
  heartbeatMs?: number
}

const reconnectDelayMs = 1_000
const heartbeatDefaultMs = 5 * SECOND

/**
 * Calls `onChange` at every revocation, whenever the line is lost, because revocations may be missed from then on, and when
 * it is back. Reconnects automatically.
 *
 * A line that is silent is not alive: it sends itself a notification and waits for it. So a half-open connection, or a
 * pooler in between that swallows notifications, is noticed within two heartbeats.
 */
export async function openRevocationListener(
  { databaseUrl, log, heartbeatMs = heartbeatDefaultMs }: RevocationListenerOptions,
  onChange: () => void,
): Promise<RevocationListener> {
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let line: Line | undefined

  const connect = async (): Promise<void> => {
    const own = createLine({ databaseUrl, heartbeatMs, onChange, onLost: lose })
    line = own
    await own.open()
  }
  const lose = (reason: string, code?: string) => {
    onChange()
    if (closed) return
    log.warn({ reason, code }, 'lost the LISTEN connection for revocations')
    timer = setTimeout(() => void connect(), reconnectDelayMs).unref()
  }

  await connect()
  return {
    isListening: () => line?.isAlive() ?? false,
    close: async () => {
      closed = true
      clearTimeout(timer)
      line?.end()
    },
  }
}

type Line = { open(): Promise<void>; isAlive(): boolean; end(): void }

type LineOptions = {
  databaseUrl: string
  heartbeatMs: number
  onChange(): void
  onLost(reason: string, code?: string): void
}

/** One connection that listens. It is lost once, and not used again after that. */
function createLine({ databaseUrl, heartbeatMs, onChange, onLost }: LineOptions): Line {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'vitalsync revocations',
    connectionTimeoutMillis: heartbeatMs,
    keepAlive: true,
  })
  const heartbeatChannel = `service_heartbeat_${randomUUID().replaceAll('-', '')}`
  let state: 'opening' | 'alive' | 'ended' = 'opening'
  let pulse: NodeJS.Timeout | undefined
  let returned: (() => void) | undefined

  const end = () => {
    state = 'ended'
    clearInterval(pulse)
    client.end().catch(() => undefined) // a silent server does not answer to a farewell
    destroyConnection(client)
  }
  const lose = (reason: string, code?: string) => {
    if (state === 'ended') return // a broken connection emits several events
    end()
    onLost(reason, code)
  }
  /** Sends a notification to this line itself, over this line. */
  const beat = async () => {
    const back = new Promise<boolean>((resolve) => {
      returned = () => resolve(true)
      setTimeout(() => resolve(false), heartbeatMs).unref()
    })
    client.query('select pg_notify($1, null)', [heartbeatChannel]).catch(() => undefined) // 'end' or the timeout follows
    if (!(await back)) lose('its heartbeat did not come back')
  }

  client.on('notification', ({ channel }) => (channel === heartbeatChannel ? returned?.() : onChange()))
  client.on('error', (error) => lose('connection error', (error as { code?: string }).code))
  client.once('end', () => lose('closed by the database'))
  return {
    isAlive: () => state === 'alive',
    end,
    open: async () => {
      try {
        await client.connect()
        await client.query(`listen service_revocations; listen ${heartbeatChannel}`)
        await beat()
      } catch (error) {
        // The database cannot be reached now: every token is looked up, and the connection is tried again.
        return lose('not connected', (error as { code?: string }).code)
      }
      if (state === 'ended') return
      state = 'alive'
      onChange()
      pulse = setInterval(() => void beat(), heartbeatMs)
      pulse.unref()
    },
  }
}
