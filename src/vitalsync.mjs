#!/usr/bin/env node
// Any Node can run this entry: Node 24 or newer runs the program itself, an older Node starts the Node 24 that `npm ci`
// installed. It is plain JavaScript, because old versions must be able to parse it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const major = Number(process.versions.node.split('.')[0])
const entry = fileURLToPath(import.meta.url)
const words = process.argv.slice(2)

// `up` and `sandbox` run everything in one process, often on a small machine: their young generation is kept small. A worker
// or a service of one's own takes what it needs. (`--optimize-for-size` saves 100 MB more, for two thirds more processor time.)
// `import` promises 300 MB for a file of any size: 8 MB of young generation instead of 64, and an old one that is cleaned when it
// has doubled, save 200 MB, for a tenth more processor time.
const smallHeaps = {
  up: ['--max-semi-space-size=2'],
  sandbox: ['--max-semi-space-size=2'],
  import: ['--max-semi-space-size=8', '--heap-growing-percent=100'],
}
const flags = smallHeaps[words[0]] ?? []

if (major >= 24) {
  if (flags.length > 0 && !process.execArgv.includes(flags[0])) becomeSmall()
  // Kept beside the packages, where nobody else can write; where this user cannot either, nothing is cached.
  const cache = fileURLToPath(new URL('../node_modules/.cache/vitalsync', import.meta.url))
  nodeModule.enableCompileCache(cache)
  process.env.NODE_COMPILE_CACHE ??= cache // a thread looks for it there only
  // In a checkout Node runs the sources; the published package holds them compiled, for Node compiles nothing in node_modules.
  const sources = new URL('./app/cli.ts', import.meta.url)
  await import(existsSync(sources) ? sources.href : new URL('../dist/src/app/cli.js', import.meta.url).href)
} else {
  const packaged = findPackagedNode()
  if (packaged === undefined) {
    process.stderr.write(
      `vitalsync: needs Node 24 or newer, this is ${process.version}, and the packages hold no Node 24 for this machine.\n` +
        'Install Node 24 (https://nodejs.org), or run `npm ci` without --omit=optional on Linux x64 or arm64.\n',
    )
    process.exit(2)
  }
  const child = spawn(packaged, [...flags, entry, ...words], { stdio: 'inherit' })
  // A terminal sends its signals to both processes. A signal that was sent to this process alone is passed on to the child.
  // This process ends after the child in both cases.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('error', (error) => {
    process.stderr.write(`vitalsync: cannot start ${packaged}: ${error.message}\n`)
    process.exit(2)
  })
  child.on('exit', (code, signal) => {
    if (signal) process.kill(process.pid, signal)
    else process.exit(code ?? 1)
  })
}

/** The package lies beside this one or within it, as npm sees fit. */
function findPackagedNode() {
  const require = nodeModule.createRequire(import.meta.url)
  try {
    const manifest = require.resolve(`node-${process.platform}-${process.arch}/package.json`)
    const program = join(dirname(manifest), 'bin', 'node')
    return existsSync(program) ? program : undefined
  } catch {
    return undefined
  }
}

/** Heap flags count from the beginning of a process: this process becomes another one. Where that is not possible it goes on. */
function becomeSmall() {
  if (typeof process.execve !== 'function' || process.platform === 'win32') return
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...flags, entry, ...words])
}
