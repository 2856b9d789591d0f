import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { Problem } from '../base/errors.ts'

/** A file of a page as it is sent. The name holds a digest of the content, so that browsers may keep it for ever. */
type PageFile = Awaited<ReturnType<typeof compressed>>

export type PageBundle = {
  readonly files: ReadonlyMap<string, PageFile>
  /** The script with which the page begins, and its style sheet. */
  readonly script: string
  readonly style: string
}

type BundledText = { readonly name: string; readonly text: string; readonly isEntry: boolean }

/** The file that `bundle-pages.ts` writes beside the sources, where they are packed without the bundler. */
const BUNDLED_NAME = 'bundled.json'

const opened = new Map<string, Promise<PageBundle>>()

/**
 * Bundles the page whose sources are in `folder`, beginning with `main.tsx`, in memory, once in a process unless it failed. A
 * packed program has no bundler: there the texts were written beside the sources when it was packed.
 */
export function openPageBundle(folder: URL): Promise<PageBundle> {
  const bundle = opened.get(folder.href) ?? bundlePage(folder)
  opened.set(folder.href, bundle)
  bundle.catch(() => opened.delete(folder.href))
  return bundle
}

async function bundlePage(folder: URL): Promise<PageBundle> {
  const packed = await readFile(new URL(BUNDLED_NAME, folder), 'utf8').catch(() => undefined)
  const texts: BundledText[] = packed === undefined ? await bundleTexts(folder) : JSON.parse(packed)
  const files = await Promise.all(texts.map(compressed))
  const entryOf = (ending: string) => texts.find(({ name, isEntry }) => isEntry && name.endsWith(ending))?.name ?? ''
  return { files: new Map(files.map((file) => [file.name, file])), script: entryOf('.js'), style: entryOf('.css') }
}

/** How many pages are being bundled: the bundler's process serves all of them, and ends after the last. */
let bundling = 0

export async function bundleTexts(folder: URL): Promise<BundledText[]> {
  // A packed program brings its pages bundled, and may have been installed without the bundler.
  const { build, stop } = await import('esbuild').catch((cause: unknown) => {
    throw new Problem('bundle pages: the bundler is not installed', {
      hint: 'In a checkout run npm ci.',
      cause,
    })
  })
  const root = fileURLToPath(folder)
  bundling += 1
  const { outputFiles } = await build({
    entryPoints: { main: `${root}main.tsx` },
    outdir: '/pages',
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    logLevel: 'silent',
  }).finally(() => {
    bundling -= 1
    if (bundling === 0) return stop()
  })
  return outputFiles.map(({ path, text }) => {
    const name = path.replace('/pages/', '')
    return { name, text, isEntry: /^main-/.test(name) }
  })
}

const contentTypes: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

const BROTLI_QUALITY = 6

async function compressed({ name, text }: BundledText) {
  const plain = Buffer.from(text)
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  const [br, gz] = await Promise.all([promisify(brotliCompress)(plain, { params }), promisify(gzip)(plain)])
  return { name, contentType: contentTypes[name.split('.').at(-1) ?? ''] ?? 'text/plain', plain, br, gzip: gz }
}
