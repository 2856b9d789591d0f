import { readdirSync, readFileSync } from 'node:fs'

/** Processor time in milliseconds by program: what noise on the machine does not move much. */
export type Cost = ReadonlyMap<string, number>

const tickMs = 10 // USER_HZ is 100 on every Linux that Node runs on

/** The processor time of this process, and of `root` with all processes that it started. */
export function readCost(root = process.pid): Cost {
  const processes = readProcesses()
  const ours = new Set([root])
  for (let grown = true; grown; ) {
    grown = false
    for (const { pid, parent } of processes) {
      if (!ours.has(parent) || ours.has(pid)) continue
      ours.add(pid)
      grown = true
    }
  }
  const cost = new Map<string, number>()
  for (const { pid, name, ms } of processes) {
    if (!ours.has(pid)) continue
    const part =
      pid === process.pid ? 'this process' : name.startsWith('node') || name === 'MainThread' ? 'upstream' : name
    cost.set(part, (cost.get(part) ?? 0) + ms)
  }
  return cost
}

type Process = { pid: number; parent: number; name: string; ms: number }

function readProcesses(): Process[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    try {
      const text = readFileSync(`/proc/${entry}/stat`, 'latin1')
      const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      const [parent, user, system, deadUser, deadSystem] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]))
      const ticks = (user ?? 0) + (system ?? 0) + (deadUser ?? 0) + (deadSystem ?? 0)
      return [{ pid: Number(entry), parent: parent ?? 0, name, ms: ticks * tickMs }]
    } catch {
      return [] // it has just ended
    }
  })
}

/** Microseconds of processor time per piece of work, by program, dearest first. */
export function costPer(before: Cost, after: Cost, pieces: number): string {
  const parts = [...after].map(([part, ms]) => ({ part, us: ((ms - (before.get(part) ?? 0)) * 1000) / pieces }))
  const total = parts.reduce((sum, { us }) => sum + us, 0)
  const shown = parts.filter(({ us }) => us >= 0.05).sort((a, b) => b.us - a.us)
  return `${total.toFixed(1)} µs: ${shown.map(({ part, us }) => `${part} ${us.toFixed(1)}`).join(', ')}`
}

/** Microseconds in all, without the upstream's own. */
export function totalOf(before: Cost, after: Cost): number {
  let us = 0
  for (const [part, ms] of after) if (part !== 'upstream') us += (ms - (before.get(part) ?? 0)) * 1000
  return us
}
