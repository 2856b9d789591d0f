import { setTimeout as wait } from 'node:timers/promises'

const POLL_EVERY_MS = 250

/** For a script that takes no options: one that is given would be passed over. */
export function refuseOptions(script: string): void {
  const [given] = process.argv.slice(2)
  if (given === undefined) return
  process.stderr.write(`${script}: there is no option ${given}: ${script} takes none\n`)
  process.exit(2)
}

/** Waits for one thing after the other, prints each with the time, and remembers what did not come. */
export function createChecklist() {
  const missed: string[] = []
  const say = (text: string) => void process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
  return {
    say,
    async until(what: string, isSo: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
      for (const startMs = performance.now(); ; await wait(POLL_EVERY_MS)) {
        const isSeen = await isSo().catch(() => false)
        if (!isSeen && performance.now() - startMs < timeoutMs) continue
        if (!isSeen) missed.push(what)
        say(`${isSeen ? 'seen' : 'NOT SEEN'}: ${what}`)
        return
      }
    },
    /** Says the outcome; exit code 1 when something was not seen. */
    end(): void {
      say(missed.length === 0 ? 'all was seen' : `not seen: ${missed.join('; ')}`)
      process.exitCode = missed.length === 0 ? 0 : 1
    },
  }
}

export type Checklist = ReturnType<typeof createChecklist>
