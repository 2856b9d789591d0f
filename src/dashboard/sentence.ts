/** `well`: nothing to do. `busy`: work is under way. `odd`: worth a look. `bad`: work has stopped until an operator acts. */
type Tone = 'well' | 'busy' | 'odd' | 'bad' | 'unknown'
export type Sentence = { readonly tone: Tone; readonly text: string }

type PipelineNow = {
  readonly isWarehouseAway: boolean
  readonly upstream: { readonly value: { readonly isReached: boolean } } | null
  readonly counts: {
    readonly value: {
      readonly profiles: { readonly new: number; readonly active: number; readonly gone: number }
      readonly failures: ReadonlyArray<{ readonly count: number }>
      readonly quarantine: ReadonlyArray<{ readonly count: number }>
    }
  } | null
  readonly quick: {
    readonly halted: string | null
    readonly workers: number
    readonly troubles: readonly string[]
    readonly runs: ReadonlyArray<{ readonly kind: string; readonly left: number }>
    readonly slots: ReadonlyArray<{ readonly schedule: string; readonly missed: number }>
    readonly due: number
  } | null
}

/** One sentence for the whole pipeline: the first thing that matters. */
export function sentenceOf(now: PipelineNow): Sentence {
  const { quick, upstream, isWarehouseAway } = now
  if (isWarehouseAway) return { tone: 'bad', text: 'The warehouse does not answer.' }
  if (!quick) return { tone: 'unknown', text: 'Looking …' }
  if (quick.halted) return { tone: 'bad', text: `Upstream refuses our account: ${quick.halted}` }
  const underWay = quick.runs.filter(({ left }) => left > 0)
  if (quick.workers === 0 && (underWay.length > 0 || quick.due > 0))
    return {
      tone: 'bad',
      text: `No worker is alive, and ${numbered(quick.due, 'profile')} ${quick.due === 1 ? 'waits' : 'wait'}.`,
    }
  if (upstream?.value.isReached === false) return { tone: 'bad', text: 'Upstream does not answer.' }
  const [trouble] = quick.troubles
  if (trouble) return { tone: 'odd', text: `${trouble[0]?.toUpperCase()}${trouble.slice(1)}.` }
  const missed = quick.slots.find((slot) => slot.missed > 0)
  if (missed) return { tone: 'odd', text: `The ${missed.schedule} is overdue: does anything schedule?` }
  if (underWay.length > 0) {
    const left = underWay.reduce((sum, run) => sum + run.left, 0)
    return { tone: 'busy', text: `${kindsText(underWay)} under way: ${numbered(left, 'profile')} left.` }
  }
  return restSentence(now)
}

function restSentence({ counts }: PipelineNow): Sentence {
  const sumOf = (list: ReadonlyArray<{ count: number }> = []) => list.reduce((sum, { count }) => sum + count, 0)
  const failures = sumOf(counts?.value.failures)
  const quarantined = sumOf(counts?.value.quarantine)
  const parts = [
    ...(failures > 0 ? [numbered(failures, 'failure')] : []),
    ...(quarantined > 0 ? [`${numbered(quarantined, 'record')} in quarantine`] : []),
  ]
  if (parts.length > 0) return { tone: 'odd', text: `${parts.join(' and ')}; all else is well.` }
  const { active = 0, new: added = 0, gone = 0 } = counts?.value.profiles ?? {}
  if (!counts) return { tone: 'unknown', text: 'Counting …' }
  if (active + added + gone === 0) return { tone: 'unknown', text: 'Nobody is known yet, so nothing is read.' }
  return { tone: 'well', text: 'All is well: everything that is due was read.' }
}

const kindsText = (runs: ReadonlyArray<{ kind: string }>): string => {
  const text = [...new Set(runs.map(({ kind }) => kind))].join(', ')
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
const numbered = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
