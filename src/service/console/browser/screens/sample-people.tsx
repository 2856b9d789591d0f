import { useSignal } from '@preact/signals'
import { goTo } from '../../../../web/browser/address.ts'
import { act, type Json, useAnswer } from '../../../../web/browser/ask.ts'
import { Action, Answered, Cell, Panel, Table } from '../../../../web/browser/parts.tsx'
import { shownCount, shownInstant, shownNumber, shownSpan } from '../../../../web/browser/shown.ts'
import type { CastAnswer } from '../../routes/sandbox-routes.ts'
import { chosenKeyId, chosenPerson, forgetTokens } from '../callers.ts'
import { into } from '../console-parts.tsx'
import { consoleSession, controlCurl, liveSandbox, mayChange } from '../console-state.ts'

type Cast = Json<CastAnswer>

const lives: Readonly<Record<Cast['kinds'][number], string>> = {
  'office-worker': 'A desk and a commute, sports on some weekdays, later nights at the weekend.',
  'shift-worker': 'Eight days a rota, two of them nights: sleep by day, naps.',
  traveller: 'Six days of fifteen in another time zone, with travel tags.',
  'phone-only': 'No watch: steps while the phone is carried, time in bed only.',
  'two-devices': 'A watch and a phone count the same steps at once.',
  'night-owl': 'To bed at half past two, up at ten.',
  runner: 'Four runs a week, a heart rate every minute.',
  newcomer: 'Registered, without data: every query answers 204.',
}

const curl = (path: string, body: object) => controlCurl('POST', path, `'${JSON.stringify(body)}'`)

/** The people of the sandbox, and their clock. */
export function SamplePeopleScreen() {
  const { answer, again } = useAnswer<CastAnswer>('cast')
  return (
    <>
      <h1 class="head">Sample people</h1>
      <ClockPanel />
      <Answered answer={answer} again={again}>
        {({ kinds, people }) => (
          <>
            <Panel title="Make people" note="as many days of data as the others, derived in the background">
              <ul class="kinds">
                {kinds.map((kind) => (
                  <KindCard
                    key={kind}
                    kind={kind}
                    count={people.filter((person) => person.kind === kind).length}
                    again={again}
                  />
                ))}
              </ul>
            </Panel>
            <PeopleTable people={people} />
          </>
        )}
      </Answered>
    </>
  )
}

function KindCard({ kind, count, again }: { kind: Cast['kinds'][number]; count: number; again: () => void }) {
  const wanted = useSignal(1)
  const make = async () => {
    const { made } = await act<{ made: string[] }>('people/make', { kind, count: wanted.value })
    return `Made: ${made.join(', ')}`
  }
  return (
    <li>
      <h3>
        {kind} <span class="quiet">{shownNumber(count)}</span>
      </h3>
      <p>{lives[kind]}</p>
      {mayChange.value && (
        <Action
          label="Make"
          about={kind}
          command={curl('/people', { kind, count: wanted.value })}
          confirm={
            <label>
              How many
              <input
                type="number"
                min={1}
                max={10}
                value={wanted.value}
                onInput={({ currentTarget }) => {
                  wanted.value = Math.min(10, Math.max(1, Number(currentTarget.value) || 1))
                }}
              />
            </label>
          }
          run={make}
          after={again}
        />
      )}
    </li>
  )
}

const SHOWN_MAX = 200

function PeopleTable({ people }: { people: Cast['people'] }) {
  const search = useSignal('')
  const found = people.filter(({ externalId }) => externalId.toLowerCase().includes(search.value.toLowerCase()))
  const ask = (externalId: string) => {
    chosenPerson.value = externalId
    chosenKeyId.value = consoleSession.value.credentials?.clientId ?? ''
    goTo('/query/scoresOf')
  }
  return (
    <Panel
      title="People"
      aside={
        <label>
          Search
          <input type="search" value={search.value} onInput={into(search)} />
        </label>
      }
      flush
    >
      <Table
        head={['externalId', 'kind', '']}
        label="People"
        empty={people.length === 0 ? 'There is nobody yet: make people above.' : 'Nobody is called so.'}
      >
        {found.slice(0, SHOWN_MAX).map(({ externalId, kind }) => (
          <tr key={externalId}>
            <Cell max={100}>{externalId}</Cell>
            <td>{kind}</td>
            <td class="actions">
              {mayChange.value && (
                <button
                  type="button"
                  class="plain"
                  aria-label={`Ask about ${externalId}`}
                  onClick={() => ask(externalId)}
                >
                  Ask
                </button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {found.length > SHOWN_MAX && (
        <p class="about quiet">{shownCount(found.length - SHOWN_MAX, 'further person')}: search for them.</p>
      )}
    </Panel>
  )
}

const moves = [
  { label: 'An hour on', hours: 1 },
  { label: 'A day on', hours: 24 },
  { label: 'A week on', hours: 24 * 7 },
] as const

/** Forward with the logs that the people record meanwhile; the clock alone for tokens that expire. */
function ClockPanel() {
  const sandbox = liveSandbox.value
  const live = async (hours: number) => {
    const { logs } = await act<{ logs: number }>('clock/live', { hours })
    forgetTokens() // their day may be over
    return `The people recorded ${shownCount(logs, 'log')} meanwhile.`
  }
  const move = async () => {
    await act('clock/move', { hours: 24 })
    return 'The clock is a day on, and nobody recorded anything. Tokens that were issued before have expired.'
  }
  const reset = async () => {
    await act('clock/reset')
    return 'The clock is that of this machine again.'
  }
  return (
    <Panel
      title="Clock"
      note={
        sandbox &&
        (sandbox.daysToDerive > 0
          ? `${shownCount(sandbox.daysToDerive, 'day')} to be derived`
          : 'everything is derived')
      }
    >
      <div class="row">
        <span class="clock" role="timer">
          {sandbox ? `${shownInstant(sandbox.at)} UTC` : '…'}
        </span>
        <span class="quiet">{sandbox ? aheadWords(sandbox.aheadMs) : ''}</span>
        {mayChange.value && (
          <>
            {moves.map(({ label, hours }) => (
              <Action
                key={label}
                label={label}
                command={curl('/live', { hours })}
                confirm="Moves the clock forward, and stores what the people’s devices write meanwhile."
                run={() => live(hours)}
              />
            ))}
            <Action
              label="Clock alone"
              about="a day on"
              command={curl('/clock', { advanceHours: 24 })}
              confirm="Moves the clock a day on without data: the tokens that are out expire."
              run={move}
            />
            <Action
              label="Set back"
              command={controlCurl('DELETE', '/clock')}
              confirm="Sets the clock to that of this machine. What was recorded ahead stays."
              run={reset}
            />
          </>
        )}
      </div>
    </Panel>
  )
}

const aheadWords = (aheadMs: number): string =>
  Math.abs(aheadMs) < 2000
    ? 'as on this machine'
    : `${shownSpan(aheadMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`
