import { fork } from 'node:child_process'
import { once } from 'node:events'
import { endOf } from './engines.ts'
import type { Control, Counts } from './upstream-process.ts'

export type FastUpstream = {
  readonly url: string
  /** Changes how it behaves, and gives what it counted since the last time. */
  set(control: Control): Promise<Counts>
  close(): Promise<void>
}

/** Starts the fast upstream in a process of its own. */
export async function startFastUpstream(perDay = 1): Promise<FastUpstream> {
  const child = fork(new URL('./upstream-process.ts', import.meta.url), [String(perDay)], { execArgv: [] })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return {
    url,
    async set(control) {
      child.send(control)
      const [counts] = (await once(child, 'message')) as [Counts]
      return counts
    },
    close: () => endOf(child),
  }
}
