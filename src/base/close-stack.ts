import { endsWithin } from './sleep.ts'
import { MINUTE, SECOND } from './time/units.ts'

/** A part that holds further parts needs longer than each of them. */
const CLOSE_MAX_MS = MINUTE

/** How long a process may take to end after a signal, beside the time for running jobs. A supervisor must wait longer before it kills. */
export const STOP_MAX_MS = 40 * SECOND

export type CloseStack = ReturnType<typeof openCloseStack>

type Closable = { close(): void | Promise<void> }
type Opened = Closable & { readonly name: string; readonly closeMaxMs: number }

/**
 * Closes the added parts in reverse order, each part even when another part fails to close. A part that does not close
 * in time is left behind: a server that answers nothing must not keep a process from ending. All parts together have the time
 * of the slowest.
 */
export function openCloseStack(partMaxMs: number = CLOSE_MAX_MS) {
  const opened: Opened[] = []
  return {
    add<T extends Closable>(thing: T, name: string, closeMaxMs = partMaxMs): T {
      opened.push({ name, closeMaxMs, close: () => thing.close() })
      return thing
    },
    async close() {
      const failures: Error[] = []
      const endMs = performance.now() + Math.max(0, ...opened.map(({ closeMaxMs }) => closeMaxMs))
      for (let last = opened.pop(); last; last = opened.pop()) {
        const { name } = last
        await closeInTime(last, endMs).catch((cause: Error) =>
          failures.push(new Error(`close ${name}: ${cause.message}`, { cause })),
        )
      }
      if (failures[0]) throw failures[0]
    },
  }
}

/** Closes what `work` opened, also when it fails: its error then counts, not one of closing. */
export async function withCloseStack<T>(work: (closeStack: CloseStack) => Promise<T>): Promise<T> {
  const closeStack = openCloseStack()
  const result = await work(closeStack).catch(async (error: unknown) => {
    await closeStack.close().catch(() => undefined)
    throw error
  })
  await closeStack.close()
  return result
}

async function closeInTime(opened: Opened, endMs: number): Promise<void> {
  const closed = Promise.resolve(opened.close())
  const leftMs = Math.max(0, endMs - performance.now())
  if (await endsWithin(closed, Math.min(opened.closeMaxMs, leftMs))) return closed
  throw new Error(`not done within ${opened.closeMaxMs / SECOND} s`)
}
