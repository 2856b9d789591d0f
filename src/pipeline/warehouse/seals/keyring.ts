import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { UsageProblem } from '../../../base/errors.ts'
import type { TokenName } from '../../fleet/tokens.ts'

/**
 * Keys that seal the secrets in the database. The first one seals and each of them opens, so that keys can be
 * changed while everything runs. `place` is where the bytes belong: in no other place do they open.
 */
export type Keyring = ReturnType<typeof createKeyring>

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 8
/** The form of the bytes: one byte for the version, the key's id, nonce, tag, ciphertext. */
const VERSION = 1

/** Seals by AES-256-GCM. The id of a key is the beginning of a hash of it, which reveals nothing about it. */
export function createKeyring(keys: readonly Buffer[]) {
  const ids = keys.map(idOf)
  const [current] = keys
  const currentId = ids[0]
  return {
    seal: (plain: string, place: string) => {
      if (!current || !currentId) throw noKey()
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', current, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(Buffer.from(place))
      const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), currentId, nonce, cipher.getAuthTag(), ciphertext])
    },
    /** Undefined when no key opens the bytes in this place. */
    open: (sealed: Buffer, place: string) => {
      if (sealed[0] !== VERSION) return undefined
      const id = keyIdIn(sealed)
      const key = keys[ids.findIndex((known) => known.equals(id))]
      return key && tryOpen(key, sealed.subarray(1 + KEY_ID_BYTES), place)
    },
    /** Whether the first key sealed it. */
    isCurrent: (sealed: Buffer) =>
      sealed[0] === VERSION && currentId !== undefined && keyIdIn(sealed).equals(currentId),
  }
}

function idOf(key: Buffer): Buffer {
  if (key.length === KEY_BYTES)
    return createHash('sha256').update('vitalsync key ').update(key).digest().subarray(0, KEY_ID_BYTES)
  throw new UsageProblem(`open keyring: a key has ${key.length} bytes, not ${KEY_BYTES}`, {
    hint: 'Set TOKEN_KEY to 32 random bytes, for example from `openssl rand -base64 32`.',
  })
}

const keyIdIn = (sealed: Buffer) => sealed.subarray(1, 1 + KEY_ID_BYTES)

function tryOpen(key: Buffer, bytes: Buffer, place: string): string | undefined {
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(place))
    decipher.setAuthTag(tag)
    const ciphertext = bytes.subarray(NONCE_BYTES + TAG_BYTES)
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

const noKey = () =>
  new UsageProblem('seal: TOKEN_KEY is not set', {
    hint: 'Set it to the key of the workers; a new one: openssl rand -base64 32.',
  })

/** The generation of a token, by which its sealed bytes are bound to its row: they open in no other row. */
type TokenGeneration = { readonly name: TokenName; readonly generation: number }

const secretsSchema = z.object({ secret: z.string(), refreshSecret: z.string().optional() })
type TokenSecrets = z.infer<typeof secretsSchema>

export const sealToken = (keyring: Keyring, of: TokenGeneration, secrets: TokenSecrets): Buffer =>
  keyring.seal(JSON.stringify(secrets), placeOf(of))

/** Undefined when the bytes were sealed with a key that is not here, for another row or generation, or in another form. */
export function openToken(keyring: Keyring, of: TokenGeneration, sealed: Buffer): TokenSecrets | undefined {
  const text = keyring.open(sealed, placeOf(of))
  return text === undefined ? undefined : secretsSchema.parse(JSON.parse(text))
}

const placeOf = ({ name: { account, profileId = '' }, generation }: TokenGeneration): string =>
  `vitalsync.tokens|${account}|${profileId}|${generation}`
