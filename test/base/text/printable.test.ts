import { expect, test } from 'vitest'
import { printableJson, printableLine, printableText } from '../../../src/base/text/readable.ts'

const esc = '\u001b'
const hostile = `a${esc}]0;title\u0007b\r\u009b2Jc\u202egnp.exe\u2066d\u2028e\u0000`

test('a line holds no character that a terminal would obey', () => {
  expect(printableLine(hostile)).toBe('a�]0;title�b��2Jc�gnp.exe�d�e�')
  expect(printableLine('two\nlines')).toBe('two�lines')
  expect(printableLine('Ömer 名前 👩‍⚕️')).toBe('Ömer 名前 👩‍⚕️')
})

test('an output keeps its lines, its tabs and our colours, and nothing else', () => {
  expect(printableText(`${esc}[32mgood${esc}[39m\n\tnext`)).toBe(`${esc}[32mgood${esc}[39m\n\tnext`)
  expect(printableText(`${esc}[2J${esc}[8;1mhidden\u009b[31m`)).toBe('�[2J�[8;1mhidden�[31m')
  for (const code of ['8', '30', '7', '37', '39;8']) expect(printableText(`${esc}[${code}m`)).toBe(`�[${code}m`)
})

test('JSON is the same value, written in harmless characters', () => {
  const text = printableJson({ name: hostile })
  expect(JSON.parse(text)).toEqual({ name: hostile })
  expect(printableLine(text)).toBe(text)
})
