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
export type Ask = <T>(name: string, effect: () => T | Promise<T>) => Promise<T>

type Step = {
  readonly worker: number
  readonly name: string
  readonly isAnswer: boolean
  run(): Promise<void>
  drop(): void
}

/** The error that a worker meets at each of its requests once it is dead. Its code runs to its end and changes nothing. */
export class Died extends Error {}

/** Decides what happens next among all that is under way. Nothing moves but by `step`. */
export function createStage(chance: Chance) {
  const steps: Step[] = []
  const dead = new Set<number>()

  const asker = (worker: number): Ask => {
    return (name, effect) =>
      new Promise((resolve, reject) => {
        const drop = () => reject(new Died())
        if (dead.has(worker)) return drop()
        const answer = (send: () => void) => {
          if (dead.has(worker)) return drop()
          const run = async () => {
            send()
            await letRun()
          }
          steps.push({ worker, name, isAnswer: true, run, drop })
        }
        const run = async () => {
          try {
            const value = await effect()
            answer(() => resolve(value))
          } catch (error) {
            answer(() => reject(error))
          }
        }
        steps.push({ worker, name, isAnswer: false, run, drop })
      })
  }

  /** The first request, and those of its name that arrive in the same moment. */
  function takeTogether(first: Step, isAlike: (worker: number) => boolean): Step[] {
    const taken = steps.filter(({ name, isAnswer, worker }) => !isAnswer && name === first.name && isAlike(worker))
    for (const step of taken) steps.splice(steps.indexOf(step), 1)
    return [first, ...taken]
  }

  return {
    asker,
    isQuiet: () => steps.length === 0,
    /** The steps that workers wait for: requests that have not arrived, and answers on their way. */
    pendingOf: (isMeant: (worker: number) => boolean): string[] =>
      steps.flatMap(({ worker, name, isAnswer }) => (isMeant(worker) ? [isAnswer ? `${name} answered` : name] : [])),
    /**
     * One thing happens; the worker that waited for it goes on to its next question. `together`: the requests that may arrive in
     * the same moment as this one.
     */
    async step(together?: (name: string, worker: number) => ((other: number) => boolean) | undefined): Promise<string> {
      const [step] = steps.splice(chance(Math.max(1, steps.length)), 1)
      if (!step) return 'nothing'
      const isAlike = step.isAnswer ? undefined : together?.(step.name, step.worker)
      const all = isAlike ? takeTogether(step, isAlike) : [step]
      await Promise.all(all.map(({ run }) => run()))
      return `${step.name}${step.isAnswer ? ' answered' : ''} ${all.map(({ worker }) => `#${worker}`).join(' and ')}`
    },
    /** No answer reaches a dead worker. A request that it had sent may still arrive, or was never sent. */
    kill(worker: number): void {
      dead.add(worker)
      for (let index = steps.length - 1; index >= 0; index -= 1) {
        const step = steps[index]
        if (step?.worker !== worker || (!step.isAnswer && chance(2) > 0)) continue
        steps.splice(index, 1)
        step.drop()
      }
    },
    letRun: async () => letRun(),
    /** Everybody dies, and nothing that is under way arrives. */
    async close(): Promise<void> {
      for (const { worker, drop } of steps.splice(0)) {
        dead.add(worker)
        drop()
      }
      await letRun()
    },
  }
}
