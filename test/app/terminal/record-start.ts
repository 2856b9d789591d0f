/** Records the first start in an empty folder, and writes docs/pictures/start.svg. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInTerminal } from '../../support/in-terminal.ts'
import { drawTerminal, type Piece } from './terminal-picture.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const picture = new URL('../../../docs/pictures/start.svg', import.meta.url)
const columns = 100
const typedMs = 1000

const home = await mkdtemp(join(tmpdir(), 'vitalsync-recorded-'))
try {
  await chmod(home, 0o755) // As root, Postgres runs as nobody and must be able to enter.
  const startedMs = performance.now()
  const pieces: Piece[] = [{ atMs: 0, text: '$ npm start\n' }]
  const { code } = await runInTerminal(['up'], {
    cwd: root,
    columns,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, VITALSYNC_HOME: home },
    typed: { seen: 'Ctrl-C stops.', send: '\u0003' },
    onShown: (text) => pieces.push({ atMs: typedMs + performance.now() - startedMs, text }),
  })
  if (code !== 0) throw new Error(`the start ended with ${code}: ${pieces.map(({ text }) => text).join('')}`)
  const shown = pieces.slice(0, pieces.findIndex(({ text }) => text.includes('Ctrl-C stops.')) + 1)
  // The folder of the reader, and no secret; each picture shall be the same where nothing has changed but the machine.
  const ofReader = shown.map(({ atMs, text }) => ({
    atMs,
    text: text.replaceAll(home, '/home/you/vitalsync').replace(/(clientSecret: +)\S+/, '$1…'),
  }))
  const text = drawTerminal(ofReader, { columns })
  await writeFile(picture, text)
  console.log(`docs/pictures/start.svg: ${text.length} bytes, ${shown.length} pieces`)
} finally {
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
}
