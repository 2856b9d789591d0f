import { type Signal, useSignal } from '@preact/signals'
import { shellWord } from '../../../base/text/readable.ts'
import { address, changeQuery, goTo } from '../../../web/browser/address.ts'
import { act, type Json, useAnswer } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import {
  Action,
  Answered,
  Cell,
  Empty,
  Link,
  Panel,
  stepOnArrow,
  Table,
  Tag,
  Text,
} from '../../../web/browser/parts.tsx'
import { shownAge, shownCount, shownInstant, shownNumber, weekdayOf } from '../../../web/browser/shown.ts'
import { Figures } from '../../../web/browser/small-charts.tsx'
import type { PersonAnswer } from '../../routes/person-routes.ts'
import { shownState } from '../coverage-canvas.tsx'
import { followed, live, mayAct, session } from '../dashboard-state.ts'
import { DayAnswer } from '../day-answer.tsx'
import { PersonValuesPanels } from '../person-values.tsx'

type Person = Json<PersonAnswer>

/** One person: stored, missing and waiting data; and health values for users who have switched them on. */
export function PersonScreen({ params }: { params: Readonly<Record<string, string>> }) {
  const { id = '' } = params
  // A person who is being erased is asked for no more: the answer would be that there is none.
  const isErasing = useSignal(false)
  const state = followed(({ runs, counts }) => [runs, counts?.value])
  const { answer, again } = useAnswer<PersonAnswer>(
    'person',
    { profileId: id },
    { follow: isErasing.value ? undefined : state },
  )
  const { query } = address.value
  const date = query.get('date')
  return (
    <>
      {answer.state !== 'here' && <h1 class="head">Person</h1>}
      <Answered answer={answer} again={again}>
        {(person) => (
          <>
            <div class="head">
              <h1>
                <Text max={60}>{person.name}</Text>
              </h1>
              <span class="quiet">our id {id}</span>
              <Tag tone={person.state === 'gone' ? 'odd' : ''}>{person.state}</Tag>
              <span class="grow" />
              {mayAct.value && <Erase id={id} person={person} isErasing={isErasing} />}
            </div>
            <Facts person={person} />
            <Days person={person} />
            {date && <DayAnswer profileId={id} date={date} first={query.get('stream')} />}
            {session.value.values ? (
              <PersonValuesPanels profileId={id} />
            ) : (
              <Panel title="Health values">
                <p class="quiet">They are switched off. Switch on “Health values”: each look is recorded.</p>
              </Panel>
            )}
            <div class="grid two">
              <Gaps person={person} />
              <div class="stack">
                <Streams person={person} />
                <Devices person={person} />
              </div>
            </div>
          </>
        )}
      </Answered>
    </>
  )
}

type WithPerson = { readonly person: Person }

function Facts({ person }: WithPerson) {
  const { failures = 0, refused = 0, quarantined = 0, waiting = 0 } = person
  const facts = [
    ['Wanted from', (person.wantedFrom ?? '').slice(0, 10)],
    ['Last finished', shownAge(person.finishedAt ?? null, nowMs.value)],
    ['Due', shownAge(person.dueAt ?? null, nowMs.value)],
    ['Waiting to be pushed', shownNumber(waiting)],
    ['Failures', shownNumber(failures)],
    ['Windows refused', shownNumber(refused)],
    ['In quarantine', shownNumber(quarantined)],
  ] as const
  return (
    <Panel title="At a glance">
      <Figures facts={facts} />
    </Panel>
  )
}

function Days({ person }: WithPerson) {
  const chosen = address.value.query.get('date')
  const [first, last] = [person.days[0]?.days[0], person.days[0]?.days.at(-1)]
  return (
    <Panel title="The last sixty days" note="click a day for the reason">
      {person.days.length === 0 && <Empty>No day is wanted yet.</Empty>}
      <div class="strips">
        {person.days.map(({ stream, days }) => (
          <div key={stream} class="strip">
            <span class="quiet">{stream}</span>
            <span class="cells">
              {days.map(({ day, state, part }) => (
                <button
                  key={day}
                  type="button"
                  class={`cell day-${part ? `data_${part}` : state}`}
                  title={`${weekdayOf(day).slice(0, 3)} ${day}: ${shownState(state, part)}`}
                  aria-label={`${stream} ${weekdayOf(day)} ${day}: ${shownState(state, part)}`}
                  aria-current={day === chosen ? 'date' : undefined}
                  tabIndex={day === days.at(-1)?.day ? 0 : -1}
                  onClick={() => changeQuery({ date: day, stream })}
                  onKeyDown={stepOnArrow}
                />
              ))}
            </span>
          </div>
        ))}
        {first && (
          <div class="strip" aria-hidden="true">
            <span />
            <span class="ends small quiet">
              <span>{first.day}</span>
              <span>{last?.day}</span>
            </span>
          </div>
        )}
      </div>
    </Panel>
  )
}

function Gaps({ person }: WithPerson) {
  const { gaps, gapsCount } = person
  return (
    <Panel title="Gaps" note={shownCount(gapsCount, 'gap')} flush>
      <Table
        head={['stream', 'from', 'to', 'reason']}
        label="Gaps"
        empty="No gaps: everything that is wanted was read and has settled."
      >
        {gaps.map((gap) => (
          <tr key={`${gap.stream} ${gap.startMs}`}>
            <td>{gap.stream}</td>
            <td class="time">{shownInstant(gap.fromAt)}</td>
            <td class="time">{shownInstant(gap.toAt)}</td>
            <td class="wide">
              {gap.reason} {gap.detail && <Text max={120}>{gap.detail}</Text>}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

/** Some streams are only pushed: they have no coverage. */
const isRead = (stream: string): boolean => live.value?.streamNames.some((name) => name === stream) ?? false

function Streams({ person }: WithPerson) {
  return (
    <Panel title="Streams" flush>
      <Table head={['stream', 'checkpoint', 'last read']} label="Streams of the person">
        {(person.streams ?? []).map(({ stream, checkpoint, readAt }) => (
          <tr key={stream}>
            <td>{isRead(stream) ? <Link to={`/coverage?stream=${stream}`}>{stream}</Link> : stream}</td>
            <td class="time">{isRead(stream) ? shownInstant(checkpoint) || 'none' : 'only pushed'}</td>
            <td class="time">{isRead(stream) ? shownAge(readAt, nowMs.value) : ''}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function Devices({ person: { devices } }: WithPerson) {
  return (
    <Panel title="Devices" flush>
      <Table
        head={['device', 'system', 'time zone', 'last read']}
        label="Devices of the person"
        empty="Upstream has told of none."
      >
        {devices.map(({ type, model, system, systemVersion, timeZone, readAt }) => (
          <tr key={`${type} ${model}`}>
            <Cell max={60}>{[type, model].filter(Boolean).join(' ') || 'unnamed'}</Cell>
            <Cell max={60}>{[system, systemVersion].filter(Boolean).join(' ')}</Cell>
            <Cell max={40}>{timeZone ?? ''}</Cell>
            <td class="time">{shownAge(readAt, nowMs.value)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function Erase({ id, person, isErasing }: WithPerson & { id: string; isErasing: Signal<boolean> }) {
  const rows = person.stored.reduce((sum, count) => sum + count.rows, 0)
  const erase = async () => {
    isErasing.value = true
    const proof = await act<{ complete: boolean; rows: number; upstream: string }>('person/erase', {
      profileId: id,
    }).catch((error: unknown) => {
      isErasing.value = false
      throw error
    })
    return proof.complete
      ? `Erased: ${shownNumber(proof.rows)} rows are gone here, and upstream says: ${proof.upstream}.`
      : 'Erased in part: run the command again.'
  }
  return (
    <Action
      label="Erase"
      tone="danger"
      command={`vitalsync profiles erase ${session.value.masked ? '<externalId>' : shellWord(person.name)}`}
      confirm={
        <>
          <p>
            This person goes for good, upstream and here: {shownCount(rows, 'row')} in{' '}
            {shownCount(person.stored.length, 'table')}.
          </p>
          <p class="small quiet">
            {person.stored.map((count) => `${count.table} ${shownNumber(count.rows)}`).join(' · ')}
          </p>
        </>
      }
      run={erase}
      after={() => goTo('/people')}
    />
  )
}
