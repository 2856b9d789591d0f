/**
 * Libraries take the time from `Date.now` and accept no other clock: the queue, when it locks, delays and pauses, and the
 * counter of requests a second. The whole fleet goes by what they store. A worker lets them use the database's clock, which
 * nobody moves by setting the clock of a machine.
 */
const clocks: Array<() => number> = []
let machine: (() => number) | undefined

/** The time of this machine, whatever clock the libraries go by. */
export const machineNow = (): number => (machine ? machine() : Date.now())

/** Lets `Date.now` answer by `clock`. Returns the function that ends this. */
export function setLibraryClock(clock: () => number): () => void {
  clocks.push(clock)
  if (clocks.length === 1) {
    machine = Date.now
    Date.now = () => (clocks.at(-1) ?? machineNow)()
  }
  return () => {
    const at = clocks.indexOf(clock)
    if (at >= 0) clocks.splice(at, 1)
    if (clocks.length > 0 || !machine) return
    Date.now = machine
    machine = undefined
  }
}
