import pg from 'pg'
import type { Log } from '../../log.ts'
import { hashSecret } from '../secrets.ts'
import { findToken, type Identity } from './tokens.ts'

export type Identities = {
  /** Who a token speaks for, expired tokens included. A revoked one is unknown from the moment of its revocation. */
  find(secret: string): Promise<Identity | undefined>
  /** To be called after every revocation of this process; other processes hear of it from the database. */
  forget(): void
  close(): Promise<void>
}

const identitiesMax = 50_000
const RELISTEN_MS = 1_000

/**
 * Remembers whom tokens speak for, so that a request costs no look-up of its token.
 *
 * Remembers only while the database would tell it of a revocation made elsewhere: when that line is cut, everything is
 * forgotten and each request asks the database until the line is back. A look-up that began before a revocation is not
 * remembered after it.
 */
export async function openIdentities(options: { pool: pg.Pool; databaseUrl: string; log: Log }): Promise<Identities> {
  const known = new Map<string, Identity>()
  let epoch = 0
  let closed = false
  let line: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined

  const forget = () => {
    epoch += 1
    known.clear()
  }

  const listen = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: options.databaseUrl, application_name: 'vitalsync revocations' })
    let over = false
    const cut = () => {
      // A line that breaks says so in several ways; only the first may ask for a new one.
      if (over) return
      over = true
      if (line === client) line = undefined
      forget()
      if (!closed) timer = setTimeout(() => void listen(), RELISTEN_MS).unref()
    }
    client.on('notification', forget)
    client.on('error', (error) => options.log.warn({ code: (error as { code?: string }).code }, 'lost the revocations'))
    client.once('end', cut)
    try {
      await client.connect()
      await client.query('listen service_revocations')
      forget()
      if (!over) line = client
    } catch {
      // Not reachable now: tokens are looked up one by one, and the line is tried again.
      cut()
    }
    if (closed || over) await client.end().catch(() => undefined)
  }

  const find = async (secret: string): Promise<Identity | undefined> => {
    const key = hashSecret(secret).toString('base64')
    const remembered = known.get(key)
    if (remembered) return remembered
    const epochBefore = epoch
    const found = await findToken(options.pool, secret)
    if (found && line && epoch === epochBefore) {
      if (known.size >= identitiesMax) known.clear()
      known.set(key, found)
    }
    return found
  }

  const close = async () => {
    closed = true
    clearTimeout(timer)
    await line?.end()
  }

  await listen()
  return { find, forget, close }
}
