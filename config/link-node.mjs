// After `npm ci`: makes the link node_modules/.bin/node to the Node 24 of this machine where npm made none. npm 10, which Node 20
// brings, deletes it together with the package for the other kind of processor, which names its program alike. Without it
// `npm test`, `npm pack` and every other script run under the older Node, and fail.
//
// The headers of that Node, a third of its package, are removed: nothing here is compiled against them.
import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const modules = fileURLToPath(new URL('../node_modules/', import.meta.url))
const packaged = `node-${process.platform}-${process.arch}`
const target = `../${packaged}/bin/node`
const link = `${modules}.bin/node`
if (existsSync(`${modules}.bin/${target}`) && !existsSync(link)) {
  rmSync(link, { force: true }) // one that leads nowhere
  symlinkSync(target, link)
}
rmSync(`${modules}${packaged}/include`, { recursive: true, force: true })
