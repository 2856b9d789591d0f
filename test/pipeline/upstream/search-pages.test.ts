import { describe, expect, test } from 'vitest'
import { Rejected, Unanswered } from '../../../src/base/errors.ts'
import { searchPages } from '../../../src/pipeline/upstream/search-pages.ts'

describe('pages of a search', () => {
  const all = (total: number) => Array.from({ length: total }, (_, index) => `p${index}`)
  const upstreams = {
    'from one': (page: number, total: number) => (page < 1 ? refuse() : answer(page, page - 1, total)),
    'from one, clamping zero': (page: number, total: number) => answer(Math.max(1, page), Math.max(0, page - 1), total),
    'from one, with an empty page zero': (page: number, total: number) =>
      page < 1 ? { ...answer(0, 0, total), items: [] } : answer(page, page - 1, total),
    'from one, clamping zero, echoing nothing': (page: number, total: number) => ({
      ...answer(1, Math.max(0, page - 1), total),
      currentPage: undefined,
    }),
    'from zero': (page: number, total: number) => answer(page, page, total),
    'from zero, echoing nothing': (page: number, total: number) => ({
      ...answer(page, page, total),
      currentPage: undefined,
    }),
    'from one, echoing from zero': (page: number, total: number) =>
      page < 1 ? refuse() : answer(page - 1, page - 1, total),
    'from one, without totals': (page: number, total: number) =>
      page < 1 ? refuse() : { ...answer(page, page - 1, total), totalPages: undefined },
  }
  const size = 10
  function answer(currentPage: number, index: number, total: number) {
    return {
      items: all(total).slice(index * size, (index + 1) * size),
      currentPage,
      totalPages: Math.ceil(total / size),
    }
  }
  function refuse(): never {
    throw new Rejected('page', { status: 400 })
  }
  const collect = async (
    ask: (
      page: number,
    ) =>
      | Awaited<ReturnType<typeof answer>>
      | { items: string[]; currentPage?: number | undefined; totalPages?: number | undefined },
    pagesMax = 50,
  ) => {
    const found: string[] = []
    for await (const items of searchPages({ ask: async (page) => ask(page), idOf: (item) => item, pagesMax })) {
      expect(items.length).toBeGreaterThan(0)
      found.push(...items)
    }
    return found
  }

  test.for(
    Object.entries(upstreams).flatMap(([name, ask]) =>
      [0, 1, 9, 10, 11, 20, 35].map((total) => ({ name, ask, total })),
    ),
  )('$name: all $total, once', async ({ ask, total }) => {
    expect(await collect((page) => ask(page, total))).toEqual(all(total))
  })

  test.for([
    ['from one', [1, 0, 2, 3]],
    ['from zero', [1, 0, 2]],
    ['from one, without totals', [1, 0, 2, 3, 4]],
  ] as const)(
    '%s: no page beyond the last is asked for, where the total says which is the last',
    async ([name, pages]) => {
      const asked: number[] = []
      await collect((page) => {
        asked.push(page)
        return upstreams[name](page, 3 * size)
      })

      expect(asked).toEqual(pages)
    },
  )

  test('an upstream that gives the same page again, another page, or no end, is an error and no endless loop', async () => {
    const same = { items: ['a'], currentPage: undefined, totalPages: 9 }
    await expect(collect((page) => (page < 1 ? refuse() : same))).rejects.toThrow('the one before it again')
    await expect(
      collect((page) => (page < 1 ? refuse() : { items: [`${page}`], currentPage: 1, totalPages: 9 })),
    ).rejects.toThrow('answered page 1')
    await expect(collect((page) => (page < 1 ? refuse() : { items: [`${page}`] }))).rejects.toThrow(
      'more than 50 pages',
    )
    await expect(collect((page) => answer(page, page, 1000), 20)).rejects.toMatchObject({
      message: 'search profiles: more than 20 pages',
      hint: 'Narrow the search.',
    })
  })

  test('as many pages as are allowed are read', async () => {
    const ask = upstreams['from one']
    expect(await collect((page) => ask(page, 20 * size), 20)).toEqual(all(20 * size))
  })

  test('a page zero that calls itself page one is page one, whatever has changed between the two', async () => {
    const found = await collect((page) =>
      page < 1 ? { ...answer(1, 0, 9), items: ['new'] } : answer(page, page - 1, 9),
    )
    expect(found).toEqual(all(9))
  })

  test('a failure of page zero that is no refusal is the failure of the search', async () => {
    const lost = new Unanswered('lost')
    const ask = (page: number) => {
      if (page < 1) throw lost
      return answer(page, page - 1, 9)
    }
    await expect(collect(ask)).rejects.toBe(lost)
  })
})
