import { expect, test } from 'vitest'
import { searchTextOf } from '../../src/service/store/service-profiles.ts'
import { everyCharacter } from '../support/every-character.ts'

test('the text of a search is the same for every case and composition of every character', () => {
  const differing = everyCharacter().filter((text) => {
    const forms = [text.toUpperCase(), text.toLowerCase(), text.normalize('NFD'), text.normalize('NFC')]
    return [...forms, searchTextOf(text)].some((form) => searchTextOf(form) !== searchTextOf(text))
  })

  expect(differing).toEqual([])
})

test('the beginning of a word is in the word, though the last letter of a text has a form of its own', () => {
  expect(searchTextOf('Σασα')).toContain(searchTextOf('ΣΑΣ'))
  expect(searchTextOf('Σασα')).toContain(searchTextOf('σας'))
})

test('it is never so long that the index of names could not hold it', () => {
  const longest = Math.max(
    ...everyCharacter().map((text) => {
      const [character = ''] = text
      return Buffer.byteLength(searchTextOf(character)) / character.length
    }),
  )

  const namesBytesMax = 2 * 100 * 3 // both columns; a unit of UTF-16 is three bytes of UTF-8 at most
  expect(100 * longest + namesBytesMax).toBeLessThan(2700)
})
