import { HOUR } from '../../../base/time/units.ts'
import { silenceStates } from '../../../pipeline/ledger/silence.ts'
import { address, changeQuery } from '../../../web/browser/address.ts'
import { type Json, useAnswer } from '../../../web/browser/ask.ts'
import { DayChart } from '../../../web/browser/charts.tsx'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Answered, Empty, Link, Panel, Table, Tag, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownInstant, shownNumber, shownShare, shownSpan } from '../../../web/browser/shown.ts'
import type { AdherenceAnswer, SilenceGroupsAnswer, SilentAnswer } from '../../routes/silence-routes.ts'
import { followed } from '../dashboard-state.ts'

type Silent = Json<SilentAnswer>['people'][number]

/** Lists silent people, the most unusual first, and the groups that fell silent together. */
export function SilenceScreen() {
  const state = address.value.query.get('state') ?? ''
  const changes = { follow: followed(({ counts }) => counts?.value.silenceChangedAt) }
  const { answer, again } = useAnswer<SilentAnswer>('silent', state === '' ? {} : { state }, changes)
  const groups = useAnswer<SilenceGroupsAnswer>('silence-groups', {}, changes)
  return (
    <>
      <h1 class="head">Silence</h1>
      <label>
        State
        <select value={state} onChange={(event) => changeQuery({ state: event.currentTarget.value })}>
          <option value="">any</option>
          {silenceStates.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Panel
        title="The most unusual first"
        aside={<span class="small quiet">judged once an hour; vitalsync profiles silent</span>}
        flush
      >
        <Answered answer={answer} again={again}>
          {({ people, more }) =>
            people.length === 0 ? (
              <Empty>Nobody has gone silent: everybody is heard of as often as usual.</Empty>
            ) : (
              <>
                <Table head={head} numbers={['unusual']} label="Silent people">
                  {people.map((person) => (
                    <SilentRow key={`${person.profileId} ${person.kind}`} person={person} />
                  ))}
                </Table>
                {more && <p class="quiet">The first hundred: vitalsync profiles silent --csv has all.</p>}
              </>
            )
          }
        </Answered>
      </Panel>
      <Panel title="Together" aside={<span class="small quiet">people who have stopped sending</span>} flush>
        <Answered answer={groups.answer} again={groups.again}>
          {(found) => (found.length === 0 ? <Empty>No group has silent people.</Empty> : <Groups groups={found} />)}
        </Answered>
      </Panel>
      <ValidDays />
    </>
  )
}

const head = ['person', 'what', 'silent for', 'usually', 'unusual', 'last', 'came last']

const shownHours = (hours: number | null) => (hours === null ? 'no habit' : shownSpan(hours * HOUR))

const SilentRow = ({ person }: { person: Silent }) => (
  <tr>
    <td>
      <Link to={`/people/${person.profileId}`}>
        <Text max={100}>{person.name}</Text>
      </Link>
    </td>
    <td>
      {person.kind} <Tag>{person.state}</Tag>
    </td>
    <td class="time">{shownSpan(person.silentHours * HOUR)}</td>
    <td class="time">{shownHours(person.usualHours)}</td>
    <td class="number">{person.unusual === null ? '' : shownShare(person.unusual)}</td>
    <td class="time">{shownInstant(person.lastAt)}</td>
    <td>{[person.device, ...person.lastKinds].filter((text) => text !== null).join(' ')}</td>
  </tr>
)

const Groups = ({ groups }: { groups: Json<SilenceGroupsAnswer> }) => (
  <Table head={['by', 'group', 'silent', 'of', 'share', 'since']} numbers={['silent', 'of', 'share']} label="Groups">
    {groups.map(({ by, name, silent, people, since }) => (
      <tr key={`${by} ${name}`}>
        <td>{by}</td>
        <td>
          <Text max={100}>{name}</Text>
        </td>
        <td class="number">{shownNumber(silent)}</td>
        <td class="number">{shownNumber(people)}</td>
        <td class="number">{shownShare(silent / people)}</td>
        <td class="time">{shownAge(since, nowMs.value)}</td>
      </tr>
    ))}
  </Table>
)

/** The share of valid days of each cohort, week by week. */
function ValidDays() {
  const measure = address.value.query.get('measure') ?? 'activity'
  const { answer, again } = useAnswer<AdherenceAnswer>('adherence', { measure })
  return (
    <Panel
      title="Valid days by cohort"
      aside={<span class="small quiet">per cent of each week; warehouse.adherence</span>}
    >
      <Answered answer={answer} again={again}>
        {({ measures, weeks, cohorts, isTooLarge }) => (
          <>
            <label>
              Measure
              <select value={measure} onChange={(event) => changeQuery({ measure: event.currentTarget.value })}>
                {measures.map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            {cohorts.length === 0 ? (
              <Empty>{isTooLarge ? 'The cohorts are too large for a page.' : 'Nobody is in a cohort.'}</Empty>
            ) : (
              <DayChart
                days={weeks}
                series={cohorts.map(({ name, values }) => ({ name, values: values.map(percent) }))}
                label={`valid days of ${measure} by week`}
              />
            )}
          </>
        )}
      </Answered>
    </Panel>
  )
}

const percent = (share: number | null) => share && share * 100
