import type { RunnerTask } from 'vitest'

/** The names of the suites around a test and its own, below the suite of a mutant. */
export function nameOf(task: RunnerTask): string {
  const names: string[] = []
  for (let one: RunnerTask | undefined = task; one && !isMutantSuite(one.name); one = one.suite) names.unshift(one.name)
  return names.join(' > ')
}

const isMutantSuite = (name: string) => /^mutant \S+$/.test(name)
