import { expect } from 'vitest'
import { operations } from '../../src/base/contract/operations.ts'
import { call, test } from './service-world.ts'

const sectionsOf = (page: string) =>
  page
    .split('<section id="')
    .slice(1)
    .map((part) => ({ name: part.slice(0, part.indexOf('"')), text: part }))

test('the page shows each operation once, under its task, with a request and its answer', async ({ world }) => {
  const { text: page, status } = await call(world, '/docs')
  expect(status).toBe(200)

  const sections = sectionsOf(page)
  const named = sections.map(({ name }) => name)
  expect(named.filter((name) => name in operations).toSorted()).toEqual(Object.keys(operations).toSorted())
  for (const [name, { method, path, caller }] of Object.entries(operations)) {
    const section = sections.find((section) => section.name === name)?.text ?? ''
    expect(section, name).toContain(`<b>${method}</b> ${path}</code>`)
    expect(section, name).toMatch(/<h4>Example<\/h4><pre tabindex="0">curl /)
    expect(section, name).toMatch(/<pre tabindex="0">2\d\d/)
    if (caller !== 'anyone')
      expect(section, name).toMatch(caller === 'app' ? /AppSecret: / : new RegExp(`: ${caller} \\$`))
  }
})

test('the page loads nothing and runs nothing', async ({ world }) => {
  const { text: page, headers } = await call(world, '/docs')

  expect(page).not.toMatch(/<script|<link|<img|<iframe| on\w+=|javascript:/i)
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  // Every link within the page leads to a place of the page.
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
})
