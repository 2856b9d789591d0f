import { signal } from '@preact/signals'

/** The address of the view: the path after the page's own, and the query. Every view has one that can be shared. */
export type Address = { readonly path: string; readonly query: URLSearchParams }

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

export function goTo(path: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', hrefOf(path))
  address.value = readAddress()
  if (!replace) scrollTo(0, 0)
}
