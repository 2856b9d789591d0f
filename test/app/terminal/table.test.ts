import { expect, test } from 'vitest'
import { formatTable } from '../../../src/app/terminal/table.ts'

test('neither a title nor a cell of a table has a character that a terminal would obey', () => {
  expect(formatTable(['\u001b[31mone', 'two'], [['\u001b[2J', 'b']])).toBe('\ufffd[31mone  two\n\ufffd[2J      b')
})
