import type { OpenApi, OpenApiOperation } from './openapi.ts'
import { tasks } from './tasks.ts'

export type ReferenceEntry = { readonly path: string; readonly method: string; readonly operation: OpenApiOperation }
export type ReferenceSection = {
  readonly title: string
  readonly about: string
  readonly entries: readonly ReferenceEntry[]
}

/** Routes of extensions belong to no task of the interface and come last. */
export function sectionsOf(document: OpenApi): ReferenceSection[] {
  const entries = new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, ReferenceEntry] => [
        operation.operationId,
        { path, method: method.toUpperCase(), operation },
      ]),
    ),
  )
  const sections = tasks.map(({ title, about, operations }) => ({
    title,
    about,
    entries: operations.flatMap((name) => {
      const entry = entries.get(name)
      entries.delete(name)
      return entry ? [entry] : []
    }),
  }))
  if (entries.size === 0) return sections
  const rest = {
    title: 'Beyond the interface',
    about: 'Routes that this service adds.',
    entries: [...entries.values()],
  }
  return [...sections, rest]
}
