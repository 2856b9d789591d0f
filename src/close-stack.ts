/** Closes what was added in the reverse order, each part even when another part fails to close. */
export type CloseStack = {
  add<T extends { close(): void | Promise<void> }>(opened: T, name: string): T
  close(): Promise<void>
}

export function openCloseStack(): CloseStack {
  const opened: Array<{ name: string; close(): void | Promise<void> }> = []
  return {
    add(thing, name) {
      opened.push({ name, close: () => thing.close() })
      return thing
    },
    async close() {
      const failures: Error[] = []
      for (let last = opened.pop(); last; last = opened.pop()) {
        const { name } = last
        await Promise.resolve(last.close()).catch((cause: Error) =>
          failures.push(new Error(`close ${name}: ${cause.message}`, { cause })),
        )
      }
      if (failures[0]) throw failures[0]
    },
  }
}
