import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 random bits: nothing that could be guessed, so a plain hash is enough to keep. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function makePublicId(): string {
  return randomBytes(12).toString('hex')
}

export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest()
}

const nobody = randomBytes(32)

/** Takes the same time whether the secret is wrong or there is none to compare with. */
export function matchesHash(secret: string, hash: Buffer | undefined): boolean {
  const equal = timingSafeEqual(hashSecret(secret), hash ?? nobody)
  return equal && hash !== undefined
}
