import { expect, test } from 'vitest'
import { fieldsOf, shapeWords, typeWords } from '../../../src/base/text/plain-types.ts'

test.for([
  [{ type: 'string', minLength: 1, maxLength: 200 }, 'text of 1 to 200 characters'],
  [{ type: 'string', maxLength: 40, description: 'ISO 8601 date-time; from 1900 to 2199' }, 'date-time'],
  [{ type: 'string', pattern: '^\\d{1,9}$' }, 'whole number'],
  [{ type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' }, 'date'],
  [{ type: 'string', pattern: '^[A-Za-z]{2}$' }, 'text of 2 letters'],
  [{ type: 'string', minLength: 1 }, 'text that is not empty'],
  [{ anyOf: [{ type: 'string', format: 'uuid', pattern: 'x' }, { type: 'null' }] }, 'UUID or null'],
  [{ type: ['integer', 'null'] }, 'whole number or null'],
  [{ type: 'number', minimum: 0, maximum: 1 }, 'number from 0 to 1'],
  [{ type: 'string', enum: ['sum', 'avg'] }, 'one of sum, avg'],
  [{ type: 'string', const: 'Account' }, 'Account'],
  [{ type: 'array', maxItems: 10, items: { type: 'string', maxLength: 9 } }, 'list of texts, up to 10'],
  [{ type: 'array', items: { type: 'object', properties: {} } }, 'list of objects'],
  [{ type: 'object', additionalProperties: { type: 'string' } }, 'object of names and text'],
] as const)('%j is said as %s', ([schema, words]) => {
  expect(typeWords(schema)).toBe(words)
})

test('fields of lists and objects stand below their parent', () => {
  const schema = {
    type: 'array',
    maxItems: 5,
    items: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string' },
        factors: { type: 'array', items: { type: 'object', properties: { score: { type: 'number' } } } },
        life: { type: 'integer', default: 3600 },
      },
    },
  }
  expect(shapeWords(schema)).toBe('A list of up to 5, each with')
  expect(fieldsOf(schema)).toEqual([
    { path: 'name', type: 'text', required: true, note: '' },
    { path: 'factors', type: 'list of objects', required: false, note: '' },
    { path: 'factors[].score', type: 'number', required: false, note: '' },
    { path: 'life', type: 'whole number', required: false, note: 'absent: 3600' },
  ])
})
