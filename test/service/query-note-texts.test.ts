import { describe, expect, test } from 'vitest'
import { queryNotes } from '../../src/service/http/query-parameters.ts'

const known = {
  parameters: ['startDateTime', 'endDateTime', 'types'],
  words: { types: ['sleep', 'activity', 'mental_wellbeing'] },
}

describe('the parts of a query without effect are reported', () => {
  test.each([
    [{}, undefined],
    [{ types: ['sleep'], startDateTime: '2026-07-11' }, undefined],
    [{ startDate: '2026-07-11' }, 'there is no parameter "startDate", is "startDateTime" meant?'],
    [{ offset: '3' }, 'there is no parameter "offset"'],
    [{ startDateTme: 'x' }, 'there is no parameter "startDateTme", is "startDateTime" meant?'],
    [{ startdatetime: 'x' }, 'there is no parameter "startdatetime", is "startDateTime" meant?'],
    [{ type: 'x' }, 'there is no parameter "type", is "types" meant?'],
    [{ types: ['slep', 'sleep', 'luck'] }, 'types knows no "slep", is "sleep" meant?; types knows no "luck"'],
    [{ types: ['mental'] }, 'types knows no "mental", is "mental_wellbeing" meant?'],
    [{ 'a b\r\nset-cookie: c': 'x' }, 'there is no parameter of a name that was sent'],
    [{ types: ['\u0000'] }, 'types knows no word that was sent'],
  ])('%o', (query, notes) => {
    expect(queryNotes(query, known)).toBe(notes)
  })
  test('in at most ten notes', () => {
    const query = { types: Array.from({ length: 90 }, (_, index) => `w${index}`), other: 'x' }
    expect(queryNotes(query, known)?.split('; ')).toHaveLength(10)
  })
})
