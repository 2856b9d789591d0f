import { always, type Fields, firstOf, isFields, listOf, namesOf, print, type TreeNode, within } from './tree.ts'

/** One change of a statement: `change` says what it does; `set` writes it into the tree. */
export type Edit = {
  readonly operator: string
  readonly change: string
  /** The fields of a node as they are in the mutant. */
  readonly of: Fields
  readonly set: Fields
}

type Operator = (node: TreeNode) => Edit[]

const edit = (operator: string, change: string, [of, set]: [Fields, Fields]): Edit => ({ operator, change, of, set })

/** One of several conditions, or the only condition of a clause. */
const dropConjunct: Operator = ({ kind, fields }) => {
  if (kind === 'BoolExpr' && fields['boolop'] === 'AND_EXPR') {
    const conditions = listOf(fields['args'])
    return conditions
      .filter((condition) => isCondition(condition) && !isRepeated(condition, conditions))
      .map((condition) => {
        const args = conditions.map((other) => (other === condition ? always(other) : other))
        return edit('conjunct dropped', print(condition), [fields, { args }])
      })
  }
  return ['whereClause', 'havingClause', 'agg_filter'].flatMap((clause) => {
    const condition = fields[clause]
    if (!isFields(condition) || within(condition, 'BoolExpr')?.['boolop'] === 'AND_EXPR') return []
    return isCondition(condition)
      ? [edit('conjunct dropped', print(condition), [fields, { [clause]: always(condition) }])]
      : []
  })
}

/** `$1::int8[] is not null` stands where a divided warehouse has a condition: see `namedSql`. */
const isCondition = (condition: unknown) =>
  !/^(true|\(?CAST\(\$\d+ AS int8\[\]\) IS NOT NULL\)?)$/i.test(print(condition))

/** `t.profile_id = any($1)` beside a join by the same column: a divided warehouse finds the node by it, and it excludes no row. */
function isRepeated(condition: unknown, conditions: readonly unknown[]): boolean {
  const [, column] = print(condition).match(/^([\w.]+) = ANY \((?:CAST\()?\$\d+[^(]*$/) ?? []
  return (
    column !== undefined &&
    conditions.some((other) => other !== condition && print(other).split(' = ').includes(column))
  )
}

const otherBound: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }

const moveBound: Operator = ({ kind, fields }) => {
  const [name = ''] = namesOf(fields['name'])
  const other = kind === 'A_Expr' && fields['kind'] === 'AEXPR_OP' ? otherBound[name] : undefined
  if (other === undefined) return []
  return [edit(`${name} made ${other}`, print({ A_Expr: fields }), [fields, { name: [{ String: { sval: other } }] }])]
}

const exchangeExtreme: Operator = ({ kind, fields }) => {
  if (kind === 'MinMaxExpr') {
    const isGreatest = fields['op'] === 'IS_GREATEST'
    const operator = isGreatest ? 'greatest made least' : 'least made greatest'
    const op = isGreatest ? 'IS_LEAST' : 'IS_GREATEST'
    return [edit(operator, print({ MinMaxExpr: fields }), [fields, { op }])]
  }
  const name = kind === 'FuncCall' ? namesOf(fields['funcname']).at(-1) : undefined
  if (name !== 'max' && name !== 'min') return []
  const other = name === 'max' ? 'min' : 'max'
  return [
    edit(`${name} made ${other}`, print({ FuncCall: fields }), [fields, { funcname: [{ String: { sval: other } }] }]),
  ]
}

const dropLock: Operator = ({ fields }) => {
  const clauses = listOf(fields['lockingClause'])
  return clauses.flatMap((clause) => {
    const lock = within(clause, 'LockingClause')
    if (!lock) return []
    const rest = clauses.filter((other) => other !== clause)
    const words = `for ${String(lock['strength']).replace('LCS_FOR', '').toLowerCase()} of ${relationsOf(fields)}`
    const dropped = edit('lock dropped', words, [fields, { lockingClause: rest.length > 0 ? rest : undefined }])
    if (lock['waitPolicy'] !== 'LockWaitSkip') return [dropped]
    return [dropped, edit('skip locked dropped', words, [lock, { waitPolicy: 'LockWaitBlock' }])]
  })
}

const relationsOf = (select: Fields) =>
  listOf(select['fromClause'])
    .map((item) => within(item, 'RangeVar')?.['relname'] ?? '…')
    .join(', ')

const widenConflict: Operator = ({ kind, fields }) => {
  const clause = fields['onConflictClause']
  if (kind !== 'InsertStmt' || !isFields(clause)) return []
  const table = String(isFields(fields['relation']) ? fields['relation']['relname'] : '')
  const dropped = edit('on conflict dropped', table, [fields, { onConflictClause: undefined }])
  const { infer } = clause
  const keys = isFields(infer)
    ? listOf(infer['indexElems']).flatMap((key) => within(key, 'IndexElem')?.['name'] ?? [])
    : []
  if (clause['action'] === 'ONCONFLICT_UPDATE') {
    const nothing = { action: 'ONCONFLICT_NOTHING', targetList: undefined, whereClause: undefined }
    return [dropped, edit('do update made do nothing', table, [clause, nothing])]
  }
  if (infer === undefined) return [dropped]
  const any = edit('on conflict widened to any key', `${table} (${keys.join(', ')})`, [clause, { infer: undefined }])
  return [dropped, any, ...updateFirst(clause, { table, keys: keys.map(String) })]
}

/** A conflicting row is written again, as it is: it is locked, and returned. */
function updateFirst(clause: Fields, { table, keys: [key] }: { table: string; keys: readonly string[] }): Edit[] {
  if (key === undefined) return []
  const val = { ColumnRef: { fields: [{ String: { sval: 'excluded' } }, { String: { sval: key } }] } }
  const update = { action: 'ONCONFLICT_UPDATE', targetList: [{ ResTarget: { name: key, val } }] }
  return [edit('do nothing made do update', table, [clause, update])]
}

const turnExists: Operator = ({ kind, fields, above }) => {
  if (kind === 'BoolExpr' && fields['boolop'] === 'NOT_EXPR') {
    const [inner] = listOf(fields['args'])
    const type = within(inner, 'SubLink')?.['subLinkType']
    if (type !== 'EXISTS_SUBLINK' && type !== 'ANY_SUBLINK') return []
    const word = type === 'EXISTS_SUBLINK' ? 'not exists made exists' : 'not in made in'
    return [edit(word, print(inner), [fields, { boolop: 'OR_EXPR', args: [inner] }])]
  }
  if (kind !== 'SubLink' || fields['subLinkType'] !== 'EXISTS_SUBLINK' || above?.['boolop'] === 'NOT_EXPR') return []
  const lone = { SubLink: { ...fields } }
  const none = { SubLink: { subLinkType: 'EXPR_SUBLINK', subselect: selectOf({ not: lone }) } }
  return [edit('exists made not exists', print(lone), [fields, none.SubLink])]
}

/** `(select not …)`: the negation of a node that cannot be exchanged for another kind of node in its place. */
const selectOf = ({ not }: { not: Fields }): Fields => ({
  SelectStmt: {
    targetList: [{ ResTarget: { val: { BoolExpr: { boolop: 'NOT_EXPR', args: [not] } } } }],
    limitOption: 'LIMIT_OPTION_DEFAULT',
    op: 'SETOP_NONE',
  },
})

const changeJoin: Operator = ({ kind, fields }) => {
  if (kind !== 'JoinExpr' || (!fields['quals'] && !fields['usingClause'])) return []
  const joined = `${nameOfRelation(fields['rarg'])} on ${fields['quals'] ? print(fields['quals']) : namesOf(fields['usingClause']).join(', ')}`
  if (fields['jointype'] === 'JOIN_INNER')
    return [edit('join made left join', joined, [fields, { jointype: 'JOIN_LEFT' }])]
  if (fields['jointype'] === 'JOIN_LEFT')
    return [edit('left join made join', joined, [fields, { jointype: 'JOIN_INNER' }])]
  return []
}

const nameOfRelation = (node: unknown): string => {
  const alias = Object.values(isFields(node) ? node : {}).map((fields) =>
    isFields(fields) ? fields['alias'] : undefined,
  )
  return String(within(node, 'RangeVar')?.['relname'] ?? alias.find(isFields)?.['aliasname'] ?? '…')
}

const dropCoalesce: Operator = ({ kind, fields }) => {
  if (kind !== 'CoalesceExpr') return []
  const whole = { CoalesceExpr: { ...fields } }
  const [first] = listOf(fields['args'])
  return [edit('coalesce dropped', print(whole), [fields, { args: [firstOf(first, whole)] }])]
}

/** Rows without an order may come in any. Dropped, an index or a small table would often keep the order by chance. */
const reverseOrder: Operator = ({ fields }) =>
  ['sortClause', 'agg_order', 'orderClause'].flatMap((clause) => {
    const keys = listOf(fields[clause]).map((key) => within(key, 'SortBy') ?? {})
    if (keys.length === 0 || fields['agg_within_group']) return []
    const order = keys.map((key) => print(key['node'])).join(', ')
    const reversed = keys.map((key) => ({ SortBy: { ...key, ...reversedSort(key) } }))
    return [edit('order by reversed', order, [fields, { [clause]: reversed }])]
  })

const reversedSort = ({ sortby_dir: direction, sortby_nulls: nulls }: Fields): Fields => ({
  sortby_dir: direction === 'SORTBY_DESC' ? 'SORTBY_ASC' : 'SORTBY_DESC',
  ...(nulls === 'SORTBY_NULLS_FIRST' ? { sortby_nulls: 'SORTBY_NULLS_LAST' } : {}),
  ...(nulls === 'SORTBY_NULLS_LAST' ? { sortby_nulls: 'SORTBY_NULLS_FIRST' } : {}),
})

const dropDistinct: Operator = ({ kind, fields }) => {
  if (kind === 'SelectStmt' && fields['op'] === 'SETOP_UNION' && fields['all'] !== true)
    return [edit('distinct dropped', 'union', [fields, { all: true }])]
  if (fields['agg_distinct'] === true)
    return [edit('distinct dropped', print({ FuncCall: fields }), [fields, { agg_distinct: undefined }])]
  const distinct = listOf(fields['distinctClause'])
  if (distinct.length === 0) return []
  const columns = distinct.filter((key) => isFields(key) && Object.keys(key).length > 0).map(print)
  const words = `distinct${columns.length > 0 ? ` on (${columns.join(', ')})` : ''} of ${relationsOf(fields)}`
  return [edit('distinct dropped', words, [fields, { distinctClause: undefined }])]
}

/** Two neighbours change their values and keep their names. */
const exchangeReturned: Operator = ({ fields }) => {
  const clause = fields['returningClause']
  if (!isFields(clause)) return []
  const exprs = listOf(clause['exprs'])
  return exprs.slice(1).flatMap((later, index) => {
    const pair = [within(exprs[index], 'ResTarget'), within(later, 'ResTarget')] as const
    const [one, other] = [outputName(pair[0]), outputName(pair[1])]
    if (!one || !other || !pair[0] || !pair[1]) return []
    const swapped = [
      { ResTarget: { name: one, val: pair[1]['val'] } },
      { ResTarget: { name: other, val: pair[0]['val'] } },
    ]
    return [
      edit('returned columns exchanged', `${one}, ${other}`, [
        clause,
        { exprs: exprs.toSpliced(index, 2, ...swapped) },
      ]),
    ]
  })
}

function outputName(target: Fields | undefined): string | undefined {
  if (typeof target?.['name'] === 'string') return target['name']
  const name = namesOf(within(target?.['val'], 'ColumnRef')?.['fields']).at(-1)
  return name === '' ? undefined : name
}

const operators: readonly Operator[] = [
  ...[dropConjunct, moveBound, exchangeExtreme, dropLock, widenConflict, turnExists],
  ...[changeJoin, dropCoalesce, reverseOrder, dropDistinct, exchangeReturned],
]

/** Every change of this node alone. */
export const editsOf = (node: TreeNode): Edit[] => operators.flatMap((operator) => operator(node))
