import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 random bits: they cannot be guessed, so the database may store a plain hash. */
export function createSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function createPublicId(): string {
  return randomBytes(12).toString('hex')
}

export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest()
}

const absentSecretHash = randomBytes(32)

/** Takes the same time whether the secret is wrong or there is no hash to compare with. */
export function matchesHash(secret: string, hash: Buffer | undefined): boolean {
  const equal = timingSafeEqual(hashSecret(secret), hash ?? absentSecretHash)
  return equal && hash !== undefined
}
