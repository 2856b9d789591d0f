import { deparseSync } from 'pgsql-parser'

/** A node of the tree that Postgres's grammar gives, by its fields. */
export type Fields = Record<string, unknown>

/** A node, the kind by which the grammar calls it, its way through the tree, and the fields of the nearest node above. */
export type TreeNode = {
  readonly kind: string
  readonly path: string
  readonly fields: Fields
  readonly above: Fields | undefined
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** All nodes below a value, each before those within it. The halves of a union lie in the tree without their kind. */
export function nodesOf(value: unknown, path = '', above?: Fields): TreeNode[] {
  if (!Array.isArray(value) && !isFields(value)) return []
  return Object.entries(value).flatMap(([key, child]) => {
    const way = `${path}.${key}`
    const kind = /^[A-Z]/.test(key) ? key : isHalfOfUnion(key, child) ? 'SelectStmt' : undefined
    if (kind === undefined || !isFields(child)) return nodesOf(child, way, above)
    return [{ kind, path: way, fields: child, above }, ...nodesOf(child, way, child)]
  })
}

const isHalfOfUnion = (key: string, child: unknown) =>
  (key === 'larg' || key === 'rarg') && isFields(child) && 'limitOption' in child

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** The node within `{ Kind: { … } }`, if it is of this kind. */
export function within(value: unknown, kind: string): Fields | undefined {
  const fields = isFields(value) ? value[kind] : undefined
  return isFields(fields) ? fields : undefined
}

/** A statement or a part of one, on one line. */
export const print = (node: unknown): string =>
  deparseSync(node as Parameters<typeof deparseSync>[0], { pretty: false })
    .replaceAll(/\s+/g, ' ')
    .trim()

/** Names in a list such as that of a function: `pg_catalog.max` is `['pg_catalog', 'max']`. */
export const namesOf = (list: unknown): string[] =>
  listOf(list).map((item) => String(within(item, 'String')?.['sval'] ?? ''))

const isTrue = { A_Const: { boolval: { boolval: true } } }

/** A condition that always holds, and whose parameters keep their types. */
export const always = (condition: unknown): Fields => ({ BoolExpr: { boolop: 'OR_EXPR', args: [isTrue, condition] } })

/** The first value, whatever it is; the type and the parameters are those of `whole`. */
export const firstOf = (value: unknown, whole: unknown): Fields => ({
  CaseExpr: { args: [{ CaseWhen: { expr: isTrue, result: value } }], defresult: whole },
})
