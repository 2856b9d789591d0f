import { afterAll } from 'vitest'

type Task = { readonly mode: string; readonly tasks?: readonly Task[] }

const isWhole = ({ mode, tasks }: Task): boolean => mode !== 'skip' && (tasks ?? []).every(isWhole)

/** Checks what the tests of a file or a group have seen together, in whichever order; not where a filter leaves some of them out. */
export function afterWhole(check: () => void): void {
  afterAll(({}, suite) => {
    if (isWhole(suite)) check()
  })
}
