import { Problem, Rejected } from '../errors.ts'

export type Page<T> = {
  readonly items: readonly T[]
  readonly currentPage?: number | undefined
  readonly totalPages?: number | undefined
}

export type Paging<T> = {
  readonly ask: (page: number) => Promise<Page<T>>
  readonly idOf: (item: T) => string
  readonly pagesMax: number
}

/**
 * All pages of a search, in order, whether upstream counts from one or from zero: the page before the first is asked
 * for too, and taken when it is one. Ends by the total, by an empty page, or with an error when `pagesMax` is reached,
 * when upstream answers another page than it was asked for, or when it gives the same page again.
 */
export async function* eachPage<T>({ ask, idOf, pagesMax }: Paging<T>): AsyncGenerator<readonly T[]> {
  const first = await ask(1)
  const zeroth = await pageZero(ask)
  const firstId = first.items[0] === undefined ? undefined : idOf(first.items[0])
  const counts = countsFromZero({ first, zeroth, idOf })
  // Some answer in another base than they are asked in; what they may not do is change their mind.
  const shift = (first.currentPage ?? 1) - 1
  if (counts && zeroth !== undefined && zeroth.items.length > 0) yield zeroth.items
  if (first.items.length > 0) yield first.items
  let previousId = firstId
  let page = first
  const last = (total: number | undefined) => (total === undefined ? pagesMax : counts ? total - 1 : total)
  for (let number = 2; page.items.length > 0 && number <= last(page.totalPages); number += 1) {
    if (number > pagesMax)
      throw new Problem(`search profiles: more than ${pagesMax} pages`, { hint: 'Narrow the search.' })
    page = await ask(number)
    const id = page.items[0] === undefined ? undefined : idOf(page.items[0])
    if (page.currentPage !== undefined && page.currentPage !== number + shift) {
      throw new Problem(`search profiles: asked for page ${number}, upstream answered page ${page.currentPage}`)
    }
    if (id !== undefined && id === previousId)
      throw new Problem(`search profiles: page ${number} is the one before it again`)
    previousId = id
    if (page.items.length > 0) yield page.items
  }
  if (page.items.length > 0 && page.totalPages === undefined) {
    throw new Problem(`search profiles: more than ${pagesMax} pages`, { hint: 'Narrow the search.' })
  }
}

/** Upstream that counts from one refuses page zero, or answers with its first page. */
async function pageZero<T>(ask: Paging<T>['ask']): Promise<Page<T> | undefined> {
  return ask(0).catch((error: unknown) => {
    if (error instanceof Rejected) return undefined
    throw error
  })
}

function countsFromZero<T>(pages: { first: Page<T>; zeroth: Page<T> | undefined; idOf: (item: T) => string }): boolean {
  const { first, zeroth, idOf } = pages
  if (zeroth === undefined || zeroth.items.length === 0) return false
  if (zeroth.currentPage !== undefined && zeroth.currentPage === first.currentPage) return false
  const [before, after] = [zeroth.items[0], first.items[0]]
  return before !== undefined && (after === undefined || idOf(before) !== idOf(after))
}
