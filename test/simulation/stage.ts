import { setImmediate as letRun } from 'node:timers/promises'

/** A whole number from 0 up to below the bound. */
export type Chance = (below: number) => number

/** A source of chance that repeats itself for the same seed. */
export function createChance(seed: number): Chance {
  let state = (seed * 2_654_435_761) >>> 0
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e37_79b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

/** A worker's request to the world outside it: `effect` happens at one moment, its answer arrives at a later one. */
export type Ask = <T>(name: string, effect: () => T) => Promise<T>

type Step = { readonly worker: number; readonly name: string; readonly isAnswer: boolean; run(): void }

/** Decides what happens next among all that is under way. Nothing moves but by `step`. */
export function createStage(chance: Chance) {
  const steps: Step[] = []
  const dead = new Set<number>()

  const asker = (worker: number): Ask => {
    return (name, effect) =>
      new Promise((resolve, reject) => {
        const answer = (run: () => void) => {
          if (!dead.has(worker)) steps.push({ worker, name, isAnswer: true, run })
        }
        const run = () => {
          try {
            const value = effect()
            answer(() => resolve(value))
          } catch (error) {
            answer(() => reject(error))
          }
        }
        steps.push({ worker, name, isAnswer: false, run })
      })
  }

  return {
    asker,
    isDead: (worker: number | undefined) => worker !== undefined && dead.has(worker),
    isQuiet: () => steps.length === 0,
    /** One thing happens; the worker that waited for it goes on to its next question. */
    async step(): Promise<string> {
      const [step] = steps.splice(chance(Math.max(1, steps.length)), 1)
      if (!step) return 'nothing'
      step.run()
      if (step.isAnswer) await letRun()
      return `${step.name}${step.isAnswer ? ' answered' : ''} #${step.worker}`
    },
    /** No answer reaches a dead worker. A request that it had sent may still arrive, or was never sent. */
    kill(worker: number): void {
      dead.add(worker)
      for (let index = steps.length - 1; index >= 0; index -= 1) {
        const step = steps[index]
        if (step?.worker === worker && (step.isAnswer || chance(2) === 0)) steps.splice(index, 1)
      }
    },
    letRun: async () => letRun(),
  }
}
