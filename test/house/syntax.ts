import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'
import type { Line } from './sources.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

type SyntaxNode = { readonly type: string; readonly start: number; readonly end: number } & Record<string, unknown>

const isSyntaxNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

/** Visits every node of a syntax tree, parents before children. */
function visit(value: unknown, onNode: (node: SyntaxNode) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, onNode)
  else if (isSyntaxNode(value)) {
    onNode(value)
    for (const child of Object.values(value)) if (typeof child === 'object') visit(child, onNode)
  }
}

function parse(file: string) {
  const text = readFileSync(`${root}${file}`, 'utf8')
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`parse ${file}: ${errors[0]?.message}`)
  const breaks = [...text.matchAll(/\n/g)].map(({ index }) => index)
  const lineAt = (offset: number) => 1 + breaks.findLastIndex((index) => index < offset) + 1
  return { program, text, lineAt }
}

export type MeasuredFunction = Line & { readonly length: number }

/** Every function with a block body, with its length in lines from the first line of its parameters to its last brace. */
export function functionsOf(file: string): MeasuredFunction[] {
  const { program, text, lineAt } = parse(file)
  const functions: MeasuredFunction[] = []
  visit(program, (node) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return
    if (!isSyntaxNode(node['body']) || !/^(BlockStatement|FunctionBody)$/.test(node['body'].type)) return
    const [number, last] = [lineAt(node.start), lineAt(node.end - 1)]
    const firstLine = text.split('\n', number)[number - 1] ?? ''
    functions.push({ file, number, text: firstLine, length: last - number + 1 })
  })
  return functions
}

/** The names that a file declares and exports, values and types. */
export function exportedNamesOf(file: string): string[] {
  const { program } = parse(file)
  const names = new Set<string>()
  visit(program.body, (node) => {
    if (node.type !== 'ExportNamedDeclaration' || !isSyntaxNode(node['declaration'])) return
    const { declaration } = node
    const declared = Array.isArray(declaration['declarations']) ? declaration['declarations'] : [declaration]
    for (const { id } of declared as ReadonlyArray<Record<string, unknown>>)
      if (isSyntaxNode(id) && typeof id['name'] === 'string') names.add(id['name'])
  })
  return [...names]
}
