import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { openPageBundle } from '../../src/web/page-bundle.ts'

const pages = ['dashboard', 'service/console'].map((page) => new URL(`../../src/${page}/browser/`, import.meta.url))

/** The command lines of the processes that this one has started. */
async function childrenOfOurs(): Promise<string[]> {
  const threads = await readdir('/proc/self/task')
  const lists = await Promise.all(threads.map((id) => readFile(`/proc/self/task/${id}/children`, 'utf8')))
  const ids = lists.flatMap((list) => list.split(' ').filter((id) => id !== ''))
  return Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')))
}

test.skipIf(process.platform !== 'linux')('the bundler does not stay once all pages are bundled', async () => {
  const bundles = await Promise.all(pages.map(openPageBundle))

  expect(bundles.map(({ script }) => script)).toEqual(Array(2).fill(expect.stringMatching(/^main-\w+\.js$/)))
  expect((await childrenOfOurs()).filter((line) => line.includes('esbuild'))).toEqual([])
})
