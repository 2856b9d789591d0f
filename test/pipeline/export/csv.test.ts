import { expect, test } from 'vitest'
import { createCsv } from '../../../src/pipeline/export/csv.ts'

const cells = ['=1+1', '+cmd', '-2+3', '@SUM(A1)', '\tx', '|calc', '-0.5', '+1e3', 'plain', -7, null, '', 'a=b']

test('a text that a spreadsheet would run gets an apostrophe; numbers and other texts stay', () => {
  expect(createCsv('defuse').rows([cells])).toBe(
    "'=1+1,'+cmd,'-2+3,'@SUM(A1),'\tx,'|calc,-0.5,+1e3,plain,-7,,\"\",a=b\r\n",
  )
})

test('a text defuses what begins like a formula behind the separators of other spreadsheets', () => {
  const texts = ['x;=1+1', 'a;b;@c', 'a\n-cmd', 'a\r\n+1', 'a\t|b', 'a; =1', 'a=b;c-d']
  expect(createCsv('defuse').rows([texts])).toBe(`x;'=1+1,a;b;'@c,"a\n'-cmd","a\r\n'+1",a\t'|b,a; =1,a=b;c-d\r\n`)
})

test('kept formulas are written as they are', () => {
  expect(createCsv('keep').rows([cells])).toBe('=1+1,+cmd,-2+3,@SUM(A1),\tx,|calc,-0.5,+1e3,plain,-7,,"",a=b\r\n')
})
