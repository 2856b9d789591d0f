import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundleTexts } from './page-bundle.ts'

/**
 * Bundles the pages into the folder that is given, for a program that runs without the bundler: a package, an image.
 *   node src/web/bundle-pages.ts .
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const target = resolve(process.argv[2] ?? root)
const pages = ['src/dashboard/browser/', 'src/service/console/browser/']

for (const page of pages) {
  const texts = await bundleTexts(pathToFileURL(join(root, page, '/')))
  await mkdir(join(target, page), { recursive: true })
  await writeFile(join(target, page, 'bundled.json'), JSON.stringify(texts))
}
