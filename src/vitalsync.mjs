#!/usr/bin/env node
// Any Node can run this entry: Node 24 or newer runs the program itself, an older Node starts the Node 24 that `npm ci`
// installed. It is plain JavaScript, because old versions must be able to parse it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'

const major = Number(process.versions.node.split('.')[0])

if (major >= 24) {
  // Kept beside the packages, where nobody else can write; where this user cannot either, nothing is cached.
  nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/vitalsync', import.meta.url)))
  await import('./cli.ts')
} else {
  const packaged = new URL(`../node_modules/node-${process.platform}-${process.arch}/bin/node`, import.meta.url)
  if (!existsSync(packaged)) {
    process.stderr.write(
      `vitalsync: needs Node 24 or newer, this is ${process.version}, and the packages hold no Node 24 for this machine.\n` +
        'Install Node 24 (https://nodejs.org), or run `npm ci` without --omit=optional on Linux x64 or arm64.\n',
    )
    process.exit(2)
  }
  const child = spawn(fileURLToPath(packaged), [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  // A terminal sends its signals to both processes. A signal that was sent to this process alone is passed on to the child.
  // This process ends after the child in both cases.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('error', (error) => {
    process.stderr.write(`vitalsync: cannot start ${fileURLToPath(packaged)}: ${error.message}\n`)
    process.exit(2)
  })
  child.on('exit', (code, signal) => {
    if (signal) process.kill(process.pid, signal)
    else process.exit(code ?? 1)
  })
}
