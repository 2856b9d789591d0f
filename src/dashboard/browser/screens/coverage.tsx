import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { formatShare } from '../../../base/text/readable.ts'
import { address, changeQuery } from '../../../web/browser/address.ts'
import { recoveries, visitChanges } from '../../../web/browser/ask.ts'
import { DraftInput, LabelledSelect, Segments } from '../../../web/browser/inputs.tsx'
import { Empty, Failed, Panel, Table } from '../../../web/browser/parts.tsx'
import { dayIn, shownNumber, shownPeople } from '../../../web/browser/shown.ts'
import { mapDaysIn } from '../../map-days.ts'
import { CoverageCanvas, shownState } from '../coverage-canvas.tsx'
import { followed, live } from '../dashboard-state.ts'
import { DayAnswer } from '../day-answer.tsx'
import type { Area } from '../map-canvas.ts'
import { openMapRows } from '../map-rows.ts'
import { MarkedArea } from '../marked-area.tsx'
import { nobodyShown } from './people.tsx'

const zooms = [
  ['1', 'day'],
  ['7', '7 days'],
  ['28', '28 days'],
  ['90', '90 days'],
  ['365', 'year'],
] as const
const orders = [
  ['worst', 'worst first'],
  ['added', 'as added'],
] as const
const states = [
  ['data', 'data'],
  ['data_refused', shownState('data', 'refused')],
  ['data_quarantined', shownState('data', 'quarantined')],
  ['empty', 'read and empty'],
  ['empty_sender', 'empty: too little was sent'],
  ['empty_upstream', 'empty: ask upstream'],
  ['unsettled', 'not settled yet'],
  ['never_read', 'never read'],
  ['refused', 'refused'],
  ['quarantined', 'quarantined'],
  ['erased_upstream', 'erased upstream'],
] as const

/** People and days: which data is there, and which is missing. */
export function CoverageScreen() {
  const stream = address.value.query.get('stream') ?? live.value?.streamNames[0]
  return stream === undefined ? <p class="loading">Looking …</p> : <CoverageOf stream={stream} />
}

function CoverageOf({ stream }: { stream: string }) {
  const query = address.value.query
  const days = mapDaysIn(query.get('days'))
  const lastDay = dayIn(query.get('lastDay')) ?? new Date().toISOString().slice(0, 10)
  const asked = {
    stream,
    days: String(days),
    lastDay,
    sort: query.get('sort') ?? 'worst',
    search: query.get('search') ?? '',
    only: query.get('only') ?? undefined,
  }
  const key = JSON.stringify(asked)
  const rows = useMemo(() => openMapRows(JSON.parse(key)), [key, visitChanges.value])
  useEffect(() => {
    rows.need(0, 0)
    return rows.close
  }, [rows])
  const area = useSignal<Area | undefined>(undefined)
  // The area counts rows and days of this selection: in another one it would mark other people and dates.
  useLayoutEffect(() => {
    area.value = undefined
  }, [key])
  useRefreshing(rows, area)
  const topRow = useSignal<number | undefined>(undefined)
  const summary = rows.summary.value
  const error = rows.error.value
  const [profileId, date] = [query.get('person'), query.get('date')]
  const opened = profileId && date ? { profileId, date } : undefined
  return (
    <>
      <h1 class="head">Coverage</h1>
      <Streams chosen={stream} />
      <Controls stream={stream} days={days} lastDay={lastDay} counts={summary?.counts} />
      {summary && asked.sort === 'worst' && <Groups summary={summary} topRow={topRow} />}
      <Panel title={`${stream}: people by days`} aside={<Legend />} flush>
        {error ? (
          <Failed error={error} again={rows.retry} />
        ) : summary?.total === 0 ? (
          <Empty>{nobodyShown(asked.search !== '' || asked.only !== undefined)}</Empty>
        ) : (
          <CoverageCanvas rows={rows} days={days} lastDay={lastDay} area={area} topRow={topRow} opened={opened} />
        )}
      </Panel>
      {summary?.total !== 0 && (
        <p class="small quiet">
          {summary && `${shownPeople(summary.total)} · `}click a cell for the reason, drag to mark an area; with the
          keyboard: arrows, Enter, Shift and arrows
        </p>
      )}
      {area.value && (
        <div class="in-view">
          <MarkedArea area={area.value} stream={stream} days={days} lastDay={lastDay} rowAt={rows.rowAt} />
        </div>
      )}
      {profileId && date && !area.value && <DayAnswer profileId={profileId} date={date} stream={stream} />}
    </>
  )
}

/** Unless an area is marked, asks again for the rows in view when the trouble or the readings of the streams have changed, and when a server is back. */
function useRefreshing(rows: ReturnType<typeof openMapRows>, area: Signal<Area | undefined>): void {
  const seen = followed(({ counts, streams }) => [
    counts?.value.failures,
    counts?.value.quarantine,
    streams?.value.map(({ newestReadAt }) => newestReadAt),
  ])
  const former = useRef(seen && `${seen} ${recoveries.value}`)
  useEffect(() => {
    const now = `${seen} ${recoveries.value}`
    if (area.value || seen === undefined || former.current === now) return
    former.current = now
    rows.refresh()
  }, [seen, recoveries.value, area.value])
}

const Legend = () => (
  <span class="legend">
    {states.map(([state, label]) => (
      <span key={state}>
        <i class={`swatch day-${state}`} />
        {label}
      </span>
    ))}
    <span>
      <i class="swatch day-none" />
      not wanted
    </span>
  </span>
)

/** The streams with the trouble in each: the first panel to look at. */
function Streams({ chosen }: { chosen: string }) {
  const { streams, counts } = live.value ?? {}
  if (!streams || !counts || streams.value.length === 0) return null
  const sumOf = (list: ReadonlyArray<{ count: number }>) => list.reduce((sum, { count }) => sum + count, 0)
  return (
    <Panel title="By stream" flush>
      <Table
        head={['stream', 'read', 'windows refused', 'records in quarantine', 'people never read']}
        numbers={['read', 'windows refused', 'records in quarantine', 'people never read']}
        label="Streams"
      >
        {streams.value.map(({ stream, readShare, neverRead }) => {
          const refused = sumOf(
            counts.value.failures.filter((count) => count.kind === 'window' && count.subject === stream),
          )
          const quarantined = sumOf(
            counts.value.quarantine.filter((count) => count.direction === 'pull' && count.stream === stream),
          )
          const isOdd = (count: number) => `number ${count > 0 ? 'tone-odd' : ''}`
          return (
            <tr key={stream}>
              <td>
                <button
                  type="button"
                  class="plain"
                  aria-pressed={stream === chosen}
                  onClick={() => changeQuery({ stream, person: '' })}
                >
                  {stream}
                </button>
              </td>
              <td class="number">{formatShare(readShare)}</td>
              <td class={isOdd(refused)}>{shownNumber(refused)}</td>
              <td class={isOdd(quarantined)}>{shownNumber(quarantined)}</td>
              <td class="number">{shownNumber(neverRead)}</td>
            </tr>
          )
        })}
      </Table>
    </Panel>
  )
}

type GroupsProps = {
  summary: { total: number; counts: { troubled: number; unread: number } }
  topRow: Signal<number | undefined>
}

/** The worst first are three groups: a click brings the begin of one into view. Chosen people are of one group. */
function Groups({ summary: { total, counts }, topRow }: GroupsProps) {
  if (address.value.query.get('only')) return null
  const { troubled, unread } = counts
  const groups = [
    { name: 'refused or quarantined', from: 0, count: troubled },
    { name: 'never read', from: troubled, count: unread },
    { name: 'longest not read', from: troubled + unread, count: total - troubled - unread },
  ]
  return (
    <div class="row">
      <span class="quiet">Go to</span>
      {groups.map(({ name, from, count }) => (
        <button
          key={name}
          type="button"
          disabled={count === 0}
          onClick={() => {
            topRow.value = from
          }}
        >
          {name} {shownNumber(count)}
        </button>
      ))}
    </div>
  )
}

type Counts = Readonly<Record<'refused' | 'quarantined' | 'never_read' | 'silent', number>>

type ControlsProps = { stream: string; days: number; lastDay: string; counts: Counts | undefined }

function Controls({ stream, days, lastDay, counts }: ControlsProps) {
  const query = address.value.query
  return (
    <div class="row">
      <LabelledSelect
        label="Stream"
        value={stream}
        options={live.value?.streamNames ?? [stream]}
        choose={(name) => changeQuery({ stream: name, person: '' })}
      />
      <Segments value={`${days}`} options={zooms} choose={(zoom) => changeQuery({ days: zoom })} />
      <label>
        up to
        <DraftInput type="date" value={lastDay} onCommit={(day) => changeQuery({ lastDay: day })} />
      </label>
      <TroubleChips counts={counts} />
      <LabelledSelect
        label="Order"
        value={query.get('sort') ?? 'worst'}
        options={orders}
        choose={(sort) => changeQuery({ sort })}
      />
      <label>
        Search
        <DraftInput
          type="search"
          value={query.get('search') ?? ''}
          placeholder="name begins with, or our id"
          onCommit={(text) => changeQuery({ search: text })}
        />
      </label>
    </div>
  )
}

function TroubleChips({ counts }: Pick<ControlsProps, 'counts'>) {
  const only = address.value.query.get('only') ?? ''
  const shown = (count: number | undefined) => (count === undefined ? '…' : shownNumber(count))
  const kinds = [
    ['', 'Everybody'],
    ['refused', `Refused ${shown(counts?.refused)}`, 'People with a refused window, of any day'],
    ['quarantined', `Quarantined ${shown(counts?.quarantined)}`, 'People with a record in quarantine, of any day'],
    ['never_read', `Never read ${shown(counts?.never_read)}`],
    ['silent', `Changed silently ${shown(counts?.silent)}`, 'People of whom something changed silently in 30 days'],
  ] as const
  return <Segments value={only} options={kinds} choose={(kind) => changeQuery({ only: kind })} />
}
