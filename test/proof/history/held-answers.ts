type HeldAnswer = {
  /** Resolves when the service has made the answer, with the time at which the request was sent. */
  readonly reached: Promise<number>
  /** Lets the answer go, or holds none any more. Whether the caller still waited for it. */
  release(): Promise<boolean>
}

export type HeldAnswers = {
  /** Holds the next answer to a request for this path. */
  hold(path: string): HeldAnswer
  /** Resolves when the answer may go, with the function that takes whether its caller heard it. Undefined: nobody holds it. */
  pass(request: { path: string; sentAtMs: number }): Promise<(isHeard: boolean) => void> | undefined
}

type Hold = {
  readonly path: string
  reach(sentAtMs: number): void
  readonly isOpen: Promise<void>
  settle(isHeard: boolean): void
}

export function createHeldAnswers(): HeldAnswers {
  const waiting = new Set<Hold>()
  return {
    hold(path) {
      const reached = Promise.withResolvers<number>()
      const open = Promise.withResolvers<void>()
      const settled = Promise.withResolvers<boolean>()
      const hold = { path, reach: reached.resolve, isOpen: open.promise, settle: settled.resolve }
      waiting.add(hold)
      return {
        reached: reached.promise,
        release() {
          if (waiting.delete(hold)) settled.resolve(false)
          open.resolve()
          return settled.promise
        },
      }
    },
    pass({ path, sentAtMs }) {
      const hold = [...waiting].find((one) => one.path === path)
      if (!hold) return undefined
      waiting.delete(hold)
      hold.reach(sentAtMs)
      return hold.isOpen.then(() => hold.settle)
    },
  }
}
