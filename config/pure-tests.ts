import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { type ParserOptions, parseSync } from 'oxc-parser'

/**
 * A test is pure when neither its file nor a file that it imports, at any distance, loads a module that reaches out of
 * the process. Such a test needs no engine and no port, and ends within seconds. Imports of types do not count.
 */
const reachesOut =
  /^(node:(child_process|cluster|dgram|http|http2|https|net|tls|worker_threads)|pg|pg-cursor|ioredis|bullmq|undici|fastify|@fastify\/.*|testcontainers|playwright-core)$/

/** Pure test files below a folder of the checkout, as paths from the root. */
export function pureTests(root: string, below = 'test'): string[] {
  const importsOf = importReader(root)
  return globSync(`${below}/**/*.test.ts`, { cwd: root })
    .filter((file) => isPure(file, importsOf))
    .toSorted()
}

type Imports = { readonly files: readonly string[]; readonly packages: readonly string[] }

/** These files of the checkout, and what they import at any distance. */
export function reachedFiles(root: string, files: readonly string[]): string[] {
  return [...reachedFrom(files, importReader(root))].toSorted()
}

function isPure(file: string, importsOf: (file: string) => Imports): boolean {
  for (const next of reachedFrom([file], importsOf))
    if (importsOf(next).packages.some((name) => reachesOut.test(name))) return false
  return true
}

function* reachedFrom(files: readonly string[], importsOf: (file: string) => Imports): Generator<string> {
  const reached = new Set(files)
  for (const next of reached) {
    yield next
    for (const imported of importsOf(next).files) reached.add(imported)
  }
}

function importReader(root: string): (file: string) => Imports {
  const known = new Map<string, Imports>()
  return (file) => {
    const imports = known.get(file) ?? readImports(root, file)
    known.set(file, imports)
    return imports
  }
}

function readImports(root: string, file: string): Imports {
  if (!/\.(ts|tsx|mjs)$/.test(file)) return { files: [], packages: [] }
  const text = readFileSync(join(root, file), 'utf8')
  const requests = moduleRequests(file, text)
  const files = requests.filter((request) => request.startsWith('.')).map((request) => join(dirname(file), request))
  return {
    files: files.map(normalize).filter((path) => existsSync(join(root, path))),
    packages: requests.filter((request) => !request.startsWith('.')),
  }
}

const parserOptions: ParserOptions = { sourceType: 'module' }

/** The modules that a file loads when it runs. Imports of types are left out; `import()` counts where its argument is a literal. */
function moduleRequests(file: string, text: string): string[] {
  const { module } = parseSync(file, text, parserOptions)
  const imported = module.staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value)
  const exported = module.staticExports
    .flatMap(({ entries }) => entries.filter(({ isType }) => !isType))
    .flatMap(({ moduleRequest }) => (moduleRequest ? [moduleRequest.value] : []))
  const dynamic = module.dynamicImports.map(({ moduleRequest }) =>
    text.slice(moduleRequest.start, moduleRequest.end).replace(/^['"`]|['"`]$/g, ''),
  )
  return [...imported, ...exported, ...dynamic]
}
