import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Starts a `redis-server` on loopback; resolves when it accepts connections. */
export async function startRedis(folder: string, port: number, ...settings: readonly string[]) {
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings]
  const child = spawn('redis-server', words, { stdio: ['ignore', 'pipe', 'ignore'] })
  const gone = once(child, 'close')
  gone.catch(() => undefined) // a child that could not start: `ready` says so
  const ready = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`start redis-server: it ended with ${code}`)))
    child.stdout.on('data', (chunk: Buffer) => chunk.includes('Ready to accept connections') && resolve())
  })
  await ready
  return {
    url: `redis://127.0.0.1:${port}`,
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}
