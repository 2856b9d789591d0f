import { Problem, Rejected } from '../../base/errors.ts'

type SearchPage<T> = {
  readonly items: readonly T[]
  readonly currentPage?: number | undefined
  readonly totalPages?: number | undefined
}

type SearchPaging<T> = {
  readonly ask: (page: number) => Promise<SearchPage<T>>
  readonly idOf: (item: T) => string
  readonly pagesMax: number
}

/**
 * All pages of a search, in order, whether upstream counts from one or from zero: page zero is asked for too, and used
 * when it differs from page one. Ends by the total or by an empty page. Throws when `pagesMax` is reached, when upstream
 * answers another page than the page that was asked for, and when upstream answers the same page twice.
 */
export async function* searchPages<T>({ ask, idOf, pagesMax }: SearchPaging<T>): AsyncGenerator<readonly T[]> {
  const first = await ask(1)
  const zeroth = await askPageZero(ask)
  const zeroBased = countsFromZero({ first, zeroth, idOf })
  // Some services number the answers differently from the requests, but by the same difference on every page.
  const shift = (first.currentPage ?? 1) - 1
  if (zeroBased && zeroth !== undefined && zeroth.items.length > 0) yield zeroth.items
  if (first.items.length > 0) yield first.items
  let previousId = firstIdOf(first, idOf)
  let page = first
  const last = (total: number | undefined) => (total === undefined ? pagesMax : zeroBased ? total - 1 : total)
  for (let number = 2; page.items.length > 0 && number <= last(page.totalPages); number += 1) {
    if (number > pagesMax) throw tooManyPages(pagesMax)
    page = await ask(number)
    if (page.currentPage !== undefined && page.currentPage !== number + shift) {
      throw new Problem(`search profiles: asked for page ${number}, upstream answered page ${page.currentPage}`)
    }
    const id = firstIdOf(page, idOf)
    if (id === previousId) {
      throw new Problem(`search profiles: page ${number} is the one before it again`)
    }
    previousId = id
    if (page.items.length > 0) yield page.items
  }
  if (page.items.length > 0 && page.totalPages === undefined) throw tooManyPages(pagesMax)
}

function firstIdOf<T>({ items }: SearchPage<T>, idOf: SearchPaging<T>['idOf']): string | undefined {
  return items[0] === undefined ? undefined : idOf(items[0])
}

function tooManyPages(pagesMax: number): Problem {
  return new Problem(`search profiles: more than ${pagesMax} pages`, { hint: 'Narrow the search.' })
}

/** A service that counts from one refuses page zero, or answers with its first page. */
async function askPageZero<T>(ask: SearchPaging<T>['ask']): Promise<SearchPage<T> | undefined> {
  return ask(0).catch((error: unknown) => {
    if (error instanceof Rejected) return undefined
    throw error
  })
}

function countsFromZero<T>(pages: {
  first: SearchPage<T>
  zeroth: SearchPage<T> | undefined
  idOf: (item: T) => string
}): boolean {
  const { first, zeroth, idOf } = pages
  if (zeroth === undefined) return false
  if (zeroth.currentPage !== undefined && zeroth.currentPage === first.currentPage) return false
  const before = firstIdOf(zeroth, idOf)
  return before !== undefined && before !== firstIdOf(first, idOf)
}
