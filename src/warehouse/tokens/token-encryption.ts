import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { TokenName } from '../../fleet/tokens.ts'

/** The generation of a token, by which its ciphertext is bound to its row: decryption fails in every other row. */
type TokenGeneration = { readonly name: TokenName; readonly generation: number }

const secretsSchema = z.object({ secret: z.string(), refreshSecret: z.string().optional() })
type TokenSecrets = z.infer<typeof secretsSchema>

export const TOKEN_KEY_BYTES = 32
const FORMAT_VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts by AES-256-GCM. The bytes are: one byte for the version of the format, nonce, tag, ciphertext. */
export function encryptToken(key: Buffer, of: TokenGeneration, secrets: TokenSecrets): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(associatedDataOf(of))
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(FORMAT_VERSION), nonce, cipher.getAuthTag(), ciphertext])
}

/** Undefined when the bytes were encrypted with another key, for another row or generation, or in another format. */
export function decryptToken(key: Buffer, of: TokenGeneration, encrypted: Buffer): TokenSecrets | undefined {
  if (encrypted[0] !== FORMAT_VERSION) return undefined
  const nonce = encrypted.subarray(1, 1 + NONCE_BYTES)
  const tag = encrypted.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES)
  const ciphertext = encrypted.subarray(1 + NONCE_BYTES + TAG_BYTES)
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(associatedDataOf(of))
    decipher.setAuthTag(tag)
    const text = Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8')
    return secretsSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

function associatedDataOf({ name: { account, profileId = '' }, generation }: TokenGeneration): Buffer {
  return Buffer.from(`vitalsync.tokens|${account}|${profileId}|${generation}`)
}
