import { dirname } from 'node:path'

type Arrow = { readonly file: string; readonly from: string }

/** Files that import one another in a circle, each circle as one line: the strongly connected components (Tarjan 1972). */
export function importCircles(arrows: readonly Arrow[]): string[] {
  const targets = Map.groupBy(arrows, ({ file }) => file)
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const circles: string[] = []
  const visit = (file: string): number => {
    const index = order.size
    order.set(file, index)
    lowest.set(file, index)
    stack.push(file)
    for (const { from } of targets.get(file) ?? []) {
      const reached = order.has(from) ? (stack.includes(from) ? (order.get(from) ?? index) : index) : visit(from)
      lowest.set(file, Math.min(lowest.get(file) ?? index, reached))
    }
    if (lowest.get(file) === index) {
      const component = stack.splice(stack.indexOf(file))
      const importsItself = targets.get(file)?.some(({ from }) => from === file)
      if (component.length > 1 || importsItself) circles.push(component.toSorted().join(', '))
    }
    return lowest.get(file) ?? index
  }
  for (const file of targets.keys()) if (!order.has(file)) visit(file)
  return circles.toSorted()
}

/**
 * Folders that import one another in a circle, each taken with all that it holds. Only folders that lie side by side count: a
 * folder and what lies within it may import one another.
 */
export const folderCircles = (arrows: readonly Arrow[]): string[] =>
  importCircles(arrows.flatMap(({ file, from }) => arrowBetweenSiblings(file, from)))

/** The arrow between the folders at which two paths part; none where they part at the root, or where one folder holds the other. */
function arrowBetweenSiblings(file: string, from: string): Arrow[] {
  const [fileFolders, fromFolders] = [dirname(file).split('/'), dirname(from).split('/')]
  const parting = fileFolders.findIndex((name, index) => name !== fromFolders[index])
  if (parting < 1 || parting >= fromFolders.length) return []
  const folderOf = (names: readonly string[]) => names.slice(0, parting + 1).join('/')
  return [{ file: folderOf(fileFolders), from: folderOf(fromFolders) }]
}
