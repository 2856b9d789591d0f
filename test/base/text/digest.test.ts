import { expect, test } from 'vitest'
import { digestCharactersOf, digestOf, hexDigestOf } from '../../../src/base/text/digest.ts'

/** The digests are stored: another one would write each record again, and call each account, device and file a new one. */
test('the digests of a text are the first bytes of its SHA-1 and the first digits of its SHA-256', () => {
  expect(digestOf('abc').toString('hex')).toBe('a9993e364706816a')
  expect(Buffer.from(digestCharactersOf('abc'), 'latin1')).toEqual(digestOf('abc'))
  expect(Buffer.from(digestCharactersOf('Zoë 😀'), 'latin1')).toEqual(digestOf('Zoë 😀'))
  expect(hexDigestOf('abc', 16)).toBe('ba7816bf8f01cfea')
})
