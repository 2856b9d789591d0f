import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { shellWord } from '../../base/text/readable.ts'
import { act, ask } from '../../web/browser/ask.ts'
import { Action, Link, Panel } from '../../web/browser/parts.tsx'
import { dayPlus, shownCount, shownPeople, shownSpan } from '../../web/browser/shown.ts'
import type { PlanAnswer } from '../routes/coverage-routes.ts'
import { mayAct, session } from './dashboard-state.ts'
import type { Area } from './map-canvas.ts'

const MARKED_MAX = 1000

const NAMED_MAX = 5

type MarkedRow = { readonly profileId: string; readonly name: string }

/** The people of the command line by name, where they are few and names are shown. */
const profileWords = (rows: readonly MarkedRow[]): string =>
  session.value.masked || rows.length > NAMED_MAX
    ? '--profiles-from <file>'
    : rows.map(({ name }) => `--profile ${shellWord(name)}`).join(' ')

type MarkedProps = {
  readonly area: Area
  readonly stream: string
  readonly days: number
  readonly lastDay: string
  readonly rowAt: (index: number) => MarkedRow | undefined
}

/** A back-fill of the marked area: its cost first, then the start. */
export function MarkedArea({ area, stream, days, lastDay, rowAt }: MarkedProps) {
  const fromDay = dayPlus(lastDay, area.dayFrom - days + 1)
  const toDay = dayPlus(lastDay, area.dayTo - days + 1)
  const count = Math.min(MARKED_MAX, area.rowTo - area.rowFrom + 1)
  const rowsMarked = Array.from({ length: count }, (_, index) => rowAt(area.rowFrom + index) ?? []).flat()
  const profileIds = rowsMarked.map(({ profileId }) => profileId)
  const key = JSON.stringify({ stream, fromDay, toDay, again: 'true', profileIds: profileIds.join() })
  const cost = useSignal('counting …')
  useEffect(() => {
    const stop = new AbortController()
    cost.value = 'counting …'
    ask<PlanAnswer>('coverage/plan', JSON.parse(key), stop.signal)
      .then((plan) => {
        cost.value = `${shownCount(plan.windows, 'request')}, about ${shownSpan(plan.expectedSeconds * 1000)}`
      })
      .catch((error: Error) => {
        if (!stop.signal.aborted) cost.value = error.message
      })
    return () => stop.abort()
  }, [key])
  const start = async () => {
    const body = { stream, fromDay, toDay, again: true, profileIds }
    const { runId } = await act<{ runId: string }>('coverage/backfill', body)
    return (
      <>
        Back-fill {runId} has begun: <Link to={`/runs/${runId}`}>how it goes</Link>
      </>
    )
  }
  return (
    <Panel title="Marked">
      <div class="row">
        <span>
          {shownPeople(profileIds.length)}, {fromDay} to {toDay}: <strong>{cost.value}</strong>
        </span>
        {mayAct.value && (
          <Action
            label="Read it again"
            tone="primary"
            command={`vitalsync backfill --again --from ${fromDay} --to ${dayPlus(toDay, 1)} --stream ${stream} ${profileWords(rowsMarked)}`}
            confirm={`${shownPeople(profileIds.length)}, ${fromDay} to ${toDay}, ${stream}: ${cost.value}.`}
            run={start}
          />
        )}
      </div>
    </Panel>
  )
}
