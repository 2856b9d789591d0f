import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { address, changeQuery } from '../../../web/browser/address.ts'
import { act, ask } from '../../../web/browser/ask.ts'
import { Action, Empty, Failed, Panel } from '../../../web/browser/parts.tsx'
import { dayPlus, shownCount, shownNumber, shownSpan } from '../../../web/browser/shown.ts'
import type { PlanAnswer } from '../../routes/coverage-routes.ts'
import { CoverageCanvas } from '../coverage-canvas.tsx'
import { DayAnswer } from '../day-answer.tsx'
import { live } from '../live.ts'
import type { Area } from '../map-canvas.ts'
import { openMapRows } from '../map-rows.ts'
import { mayAct } from '../session.ts'

const zooms = ['7', '28', '90', '365']
const states = [
  ['d', 'data', 'data'],
  ['e', 'empty', 'read and empty'],
  ['u', 'unsettled', 'not settled yet'],
  ['n', 'never_read', 'never read'],
  ['r', 'refused', 'refused'],
  ['q', 'quarantined', 'quarantined'],
] as const

/** People and days: what is there, and what is not. */
export function CoverageScreen() {
  const stream = address.value.query.get('stream') ?? live.value?.streamNames[0]
  return stream === undefined ? <p class="loading">Looking …</p> : <CoverageOf stream={stream} />
}

function CoverageOf({ stream }: { stream: string }) {
  const query = address.value.query
  const days = Number(query.get('days') ?? 90)
  const lastDay = query.get('lastDay') ?? new Date().toISOString().slice(0, 10)
  const asked = {
    stream,
    days: String(days),
    lastDay,
    sort: query.get('sort') ?? 'worst',
    search: query.get('search') ?? '',
    ...(query.get('only') ? { only: query.get('only') ?? '' } : {}),
  }
  const key = JSON.stringify(asked)
  const rows = useMemo(() => openMapRows(JSON.parse(key)), [key])
  useEffect(() => {
    rows.need(0, 0)
    return rows.close
  }, [rows])
  const area = useSignal<Area | undefined>(undefined)
  const total = useComputed(() => rows.summary.value?.total)
  const error = rows.error.value
  const [profileId, date] = [query.get('person'), query.get('date')]
  return (
    <>
      <h1 class="head">Coverage</h1>
      <Controls stream={stream} days={days} counts={rows.summary.value?.counts} />
      <Panel title={`${stream}: people by days`} aside={<Legend />} flush>
        {error ? (
          <Failed error={error} again={() => location.reload()} />
        ) : rows.summary.value?.total === 0 ? (
          <Empty>Nobody fits. Names are compared letter by letter, from their beginning.</Empty>
        ) : (
          <CoverageCanvas rows={rows} days={days} lastDay={lastDay} area={area} />
        )}
      </Panel>
      <p class="small quiet">
        {total.value !== undefined && shownCount(total.value, 'person').replace('persons', 'people')} · click a cell for
        the reason, drag to mark an area; with the keyboard: arrows, Enter, Shift and arrows
      </p>
      {area.value && <Marked area={area.value} stream={stream} days={days} lastDay={lastDay} rowAt={rows.rowAt} />}
      {profileId && date && <DayAnswer profileId={profileId} date={date} stream={stream} />}
    </>
  )
}

const Legend = () => (
  <span class="legend">
    {states.map(([, state, label]) => (
      <span key={state}>
        <i class={`swatch day-${state}`} />
        {label}
      </span>
    ))}
  </span>
)

type Counts = { readonly refused: number; readonly quarantined: number; readonly never_read: number }

function Controls({ stream, days, counts }: { stream: string; days: number; counts: Counts | undefined }) {
  const query = address.value.query
  const only = query.get('only') ?? ''
  const kinds = [
    ['', 'Everybody'],
    ['refused', `Refused ${shownNumber(counts?.refused ?? 0)}`],
    ['quarantined', `Quarantined ${shownNumber(counts?.quarantined ?? 0)}`],
    ['never_read', `Never read ${shownNumber(counts?.never_read ?? 0)}`],
  ] as const
  return (
    <div class="row">
      <label>
        Stream
        <select value={stream} onChange={(event) => changeQuery({ stream: event.currentTarget.value, person: '' })}>
          {(live.value?.streamNames ?? [stream]).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <span class="segments">
        {zooms.map((zoom) => (
          <button
            key={zoom}
            type="button"
            aria-pressed={Number(zoom) === days}
            onClick={() => changeQuery({ days: zoom })}
          >
            {zoom} days
          </button>
        ))}
      </span>
      <span class="segments">
        {kinds.map(([kind, label]) => (
          <button key={kind} type="button" aria-pressed={kind === only} onClick={() => changeQuery({ only: kind })}>
            {label}
          </button>
        ))}
      </span>
      <label>
        Order
        <select
          value={query.get('sort') ?? 'worst'}
          onChange={(event) => changeQuery({ sort: event.currentTarget.value })}
        >
          <option value="worst">worst first</option>
          <option value="added">as added</option>
        </select>
      </label>
      <label>
        Search
        <input
          type="search"
          value={query.get('search') ?? ''}
          placeholder="name begins with, or our id"
          onChange={(event) => changeQuery({ search: event.currentTarget.value })}
        />
      </label>
    </div>
  )
}

const MARKED_MAX = 1000

type MarkedProps = {
  readonly area: Area
  readonly stream: string
  readonly days: number
  readonly lastDay: string
  readonly rowAt: (index: number) => { readonly profileId: string } | undefined
}

/** A back-fill of the marked area: its cost first, then the start. */
function Marked({ area, stream, days, lastDay, rowAt }: MarkedProps) {
  const fromDay = dayPlus(lastDay, area.dayFrom - days + 1)
  const toDay = dayPlus(lastDay, area.dayTo - days + 1)
  const count = Math.min(MARKED_MAX, area.rowTo - area.rowFrom + 1)
  const profileIds = Array.from({ length: count }, (_, index) => rowAt(area.rowFrom + index)?.profileId ?? []).flat()
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
    return `Back-fill ${runId} has begun: see Runs.`
  }
  return (
    <Panel title="Marked">
      <div class="row">
        <span>
          {shownNumber(profileIds.length)} people, {fromDay} to {toDay}: <strong>{cost.value}</strong>
        </span>
        {mayAct.value && (
          <Action
            label="Read it again"
            tone="primary"
            command={`vitalsync backfill --again --from ${fromDay} --to ${toDay}T23:59:59Z --stream ${stream} --profile …`}
            confirm={`${shownNumber(profileIds.length)} people, ${fromDay} to ${toDay}, ${stream}: ${cost.value}.`}
            run={start}
          />
        )}
      </div>
    </Panel>
  )
}
