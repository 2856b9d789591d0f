import { type ComponentChildren, toChildArray } from 'preact'
import { discardedFailures, dueNow, replayedText, retriedText } from '../../pipeline/ledger/retry.ts'
import { act } from '../../web/browser/ask.ts'
import { Action } from '../../web/browser/parts.tsx'
import { shownCount, shownNumber } from '../../web/browser/shown.ts'

type Choice = { readonly all: true } | { readonly cause: string } | { readonly ids: readonly string[] }

/** The words of a retry, a replay and a discard. Routes and commands have the same; `means` and `loss` follow the count. */
const subjects = {
  failures: {
    noun: 'failure',
    verb: 'Retry',
    means: ` will be ${dueNow}.`,
    loss: `; ${discardedFailures}.`,
    redo: async (choice: Choice) =>
      retriedText(await act<Parameters<typeof retriedText>[0]>('failures/retry', choice)) || 'Nothing of it is left.',
  },
  quarantine: {
    noun: 'record',
    verb: 'Replay',
    means: ': items are pushed again; records are stored where they fit now, and read again where not.',
    loss: ': items are not pushed. A record that upstream sends again comes back.',
    redo: async (choice: Choice) => {
      const replayed = await act<Parameters<typeof replayedText>[0]>('quarantine/replay', choice)
      return `${replayedText(replayed)} What still does not fit comes back.`
    },
  },
} as const

type ChoiceActionsProps = {
  readonly of: keyof typeof subjects
  /** The word after the verb on the buttons. */
  readonly what?: string
  readonly about: string
  readonly choice: Choice
  /** How the commands name the choice. */
  readonly option: string
  readonly count: number
  readonly preview?: ComponentChildren
  readonly after: () => void
}

/** Doing again and discarding of all of a cause, or of some. Both show first what they are about. */
export function ChoiceActions({ of, what = '', about, choice, option, count, preview, after }: ChoiceActionsProps) {
  const { noun, verb, means, loss, redo } = subjects[of]
  const discard = async () => {
    const { discarded } = await act<{ discarded: number }>(`${of}/discard`, choice)
    return `${shownCount(discarded, noun)} discarded.`
  }
  const chosen = shownCount(count, noun)
  const actions = [
    { word: verb, tone: '', meaning: `${chosen}${means}`, run: () => redo(choice) },
    { word: 'Discard', tone: 'danger', meaning: `${chosen} will be forgotten${loss}`, run: discard },
  ] as const
  return (
    <span class="row">
      {actions.map(({ word, tone, meaning, run }) => (
        <Action
          key={word}
          label={`${word} ${what}`.trim()}
          about={about}
          tone={tone}
          command={`vitalsync ${of} ${word.toLowerCase()} ${option}`}
          confirm={
            <>
              <p>{meaning}</p>
              {preview}
            </>
          }
          run={run}
          after={after}
        />
      ))}
    </span>
  )
}

const PREVIEWED_MAX = 8

/** The first lines of a choice, and how many more it has. */
export function Preview({ count, children }: { count: number; children: ComponentChildren }) {
  const shown = toChildArray(children).slice(0, PREVIEWED_MAX)
  return (
    <ul class="preview small">
      {shown}
      {count > shown.length && <li class="quiet">and {shownNumber(count - shown.length)} more</li>}
    </ul>
  )
}
