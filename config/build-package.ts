import { execFileSync } from 'node:child_process'
import { cp, glob, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Run by `npm pack`: compiles the program into dist/, beside the files that it reads. Development goes on unbuilt. */
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')

await rm(dist, { recursive: true, force: true })
execFileSync(
  process.execPath,
  [join(root, 'node_modules/typescript-compiler/bin/tsc'), '-p', 'config/tsconfig.package.json'],
  {
    cwd: root,
    stdio: 'inherit',
  },
)
for await (const file of glob('src/**/migrations/*', { cwd: root })) await cp(join(root, file), join(dist, file))
execFileSync(process.execPath, [join(root, 'src/web/bundle-pages.ts'), dist], { cwd: root, stdio: 'inherit' })
// Declarations keep the endings of the sources, which are not in the package.
for await (const file of glob('**/*.d.ts', { cwd: dist })) {
  const text = await readFile(join(dist, file), 'utf8')
  await writeFile(join(dist, file), text.replace(/((?:from|import\() ?['"]\.[^'"]+)\.ts(['"])/g, '$1.js$2'))
}
const { name, version, type } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
await writeFile(join(dist, 'package.json'), `${JSON.stringify({ name, version, type })}\n`)
