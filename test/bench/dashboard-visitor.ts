import { setTimeout as wait } from 'node:timers/promises'
import { openSession, send } from '../browser/send.ts'

/**
 * Looks at a dashboard as a browser with two open pages does: it follows the first screen, and asks for the coverage map again and
 * again. A browser on the same two cores would be measured for its drawing.
 *   node test/bench/dashboard-visitor.ts http://127.0.0.1:8360
 */
const MAP_EVERY_MS = 5000

const [url = ''] = process.argv.slice(2)
const today = new Date().toISOString().slice(0, 10)
const selection = JSON.stringify({ stream: 'scores', days: '90', lastDay: today, from: '0', count: '100' })

async function follow(): Promise<void> {
  const response = await fetch(`${url}/api/live`)
  const reader = response.body?.getReader()
  let seen = 0
  for (;;) {
    const { done = true } = (await reader?.read()) ?? {}
    if (done) return
    seen += 1
    if (seen === 2) process.send?.('looks')
  }
}

async function scroll(): Promise<void> {
  const session = await openSession(url)
  for (;;) {
    await send(`${url}/api/coverage`, { ...session, body: selection })
    await wait(MAP_EVERY_MS)
  }
}

await Promise.race([follow(), scroll()])
