import { signal } from '@preact/signals'

/** The address of the view: the path after the page's own, and the query. Every view has one that can be shared. */
type Address = { readonly path: string; readonly query: URLSearchParams }

const basePath = document.querySelector<HTMLMetaElement>('meta[name="base-path"]')?.content ?? ''

const readAddress = (): Address => ({
  path: location.pathname.slice(basePath.length) || '/',
  query: new URLSearchParams(location.search),
})

export const address = signal<Address>(readAddress())

addEventListener('popstate', () => {
  address.value = readAddress()
})

/** The href of a view. */
export const hrefOf = (path: string): string => basePath + path

export function goTo(path: string, { replace = false, scroll = true } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', hrefOf(path))
  address.value = readAddress()
  if (scroll && !replace) scrollTo(0, 0)
}

/**
 * Changes some parameters of the view's address. An empty value takes the parameter away. Each choice is a step of the history, so that
 * Back takes back the last one; `replace` is for texts that are being typed.
 */
export function changeQuery(changes: Readonly<Record<string, string>>, { replace = false } = {}): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.size === 0 ? '' : `?${query}`
  if (text !== location.search) goTo(address.value.path + text, { replace, scroll: false })
}
