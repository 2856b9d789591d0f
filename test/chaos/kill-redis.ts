import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A Redis that belongs to the test, so the test can kill it and start it again from its append-only file. */
export async function startRedis(folder: string, port: number) {
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', '']
  const child = spawn('redis-server', words, { stdio: ['ignore', 'pipe', 'ignore'] })
  const gone = once(child, 'exit')
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.stdout.on('data', (chunk) => String(chunk).includes('Ready to accept connections') && resolve())
  })
  return {
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}
