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

export function goTo(path: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', hrefOf(path))
  address.value = readAddress()
  if (!replace) scrollTo(0, 0)
}
/** Changes some parameters of the view's address, in place. An empty value takes the parameter away. */
export function changeQuery(changes: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  goTo(address.value.path + (text === '' ? '' : `?${text}`), { replace: true })
}
