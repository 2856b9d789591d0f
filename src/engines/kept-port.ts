import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { EngineUnreachable } from '../errors.ts'

/** The port for this start, and the port of the last start where another program has it now. */
type KeptPort = { readonly port: number; readonly takenPort: number | undefined }

/** After a taken port so many of its successors are tried, then the system chooses. */
const NEXT_PORTS_MAX = 20
const PORT_MAX = 65_535

/**
 * The port of the last start, which the folder keeps in the file `name`, so that saved addresses still work. The next free one
 * where another program has taken it; the first time `firstPort`, or any free port.
 */
export async function keepPort(folder: string, name: string, firstPort = 0): Promise<KeptPort> {
  const last = (await readPort(join(folder, name))) || firstPort
  const port = await firstFreePort(last)
  await writeFile(join(folder, name), String(port))
  return { port, takenPort: last === 0 || last === port ? undefined : last }
}

async function readPort(file: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return /^\d{1,5}$/.test(text.trim()) && Number(text) <= PORT_MAX ? Number(text) : 0
}

async function firstFreePort(wanted: number): Promise<number> {
  const successors = Array.from({ length: wanted === 0 ? 0 : NEXT_PORTS_MAX }, (_, index) => wanted + 1 + index)
  for (const candidate of [wanted, ...successors, 0]) {
    const port = candidate > PORT_MAX ? undefined : await tryPort(candidate)
    if (port !== undefined) return port
  }
  throw new EngineUnreachable('find a free port: this machine gives none', {
    hint: 'Too many connections may be open: end some programs, and start again.',
  })
}

/** 0 tries any. Undefined where the port is taken, or this user may not open it. */
function tryPort(wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(undefined))
    probe.listen(wanted, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : undefined))
    })
  })
}
