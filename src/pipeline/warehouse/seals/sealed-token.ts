import { z } from 'zod'
import type { TokenName } from '../../fleet/tokens.ts'
import type { Keyring } from './keyring.ts'

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
