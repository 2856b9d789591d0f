import { createDecipheriv, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKeyring, openToken, sealToken } from '../../../../src/pipeline/warehouse/seals/keyring.ts'

const key = randomBytes(32)

test('a secret is sealed by AES-256-GCM under the key itself', () => {
  const sealed = createKeyring([key]).seal('a token', 'of ada')

  // A byte for the version, eight of the key's id, the nonce, the tag.
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(9, 21))
  decipher.setAAD(Buffer.from('of ada')).setAuthTag(sealed.subarray(21, 37))
  expect(`${decipher.update(sealed.subarray(37))}${decipher.final()}`).toBe('a token')
})

test('a seal opens in its own place only, unchanged, by its own key', () => {
  const keyring = createKeyring([key])
  const sealed = keyring.seal('a token', 'of ada')
  const changed = Buffer.from(sealed)
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1

  expect(keyring.open(sealed, 'of ada')).toBe('a token')
  expect(keyring.open(sealed, 'of bob')).toBe(undefined)
  expect(keyring.open(changed, 'of ada')).toBe(undefined)
  expect(createKeyring([randomBytes(32)]).open(sealed, 'of ada')).toBe(undefined)
  expect(keyring.seal('a token', 'of ada')).not.toEqual(sealed)
})

test('a sealed token opens in its own row and generation only', () => {
  const keyring = createKeyring([key])
  const name = { account: 'a', profileId: '7' }
  const sealed = sealToken(keyring, { name, generation: 3 }, { secret: 's', refreshSecret: 'r' })
  const opened = (more: object, generation = 3) =>
    openToken(keyring, { name: { ...name, ...more }, generation }, sealed)

  expect(opened({})).toEqual({ secret: 's', refreshSecret: 'r' })
  expect([opened({}, 2), opened({}, 4)]).toEqual([undefined, undefined])
  expect([opened({ account: 'b' }), opened({ profileId: '8' }), opened({ profileId: undefined })]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
