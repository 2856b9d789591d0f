import { formatShare } from '../../../base/text/readable.ts'
import { HOUR } from '../../../base/time/units.ts'
import { silenceStates } from '../../../pipeline/ledger/silence.ts'
import { address, changeQuery } from '../../../web/browser/address.ts'
import { type Json, useAnswer } from '../../../web/browser/ask.ts'
import { DayChart } from '../../../web/browser/charts.tsx'
import { LabelledSelect } from '../../../web/browser/inputs.tsx'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Answered, Cell, Empty, Link, Panel, Table, Tag, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownInstant, shownNumber, shownSpan } from '../../../web/browser/shown.ts'
import type { AdherenceAnswer, SilenceGroupsAnswer, SilentAnswer } from '../../routes/silence-routes.ts'
import { followed } from '../dashboard-state.ts'

/** Lists silent people, the most unusual first, and the groups that fell silent together. */
export function SilenceScreen() {
  const state = address.value.query.get('state') ?? ''
  const changes = { follow: followed(({ counts }) => counts?.value.silenceChangedAt) }
  const { answer, again } = useAnswer<SilentAnswer>('silent', state === '' ? {} : { state }, changes)
  const groups = useAnswer<SilenceGroupsAnswer>('silence-groups', {}, changes)
  return (
    <>
      <h1 class="head">Silence</h1>
      <LabelledSelect
        label="State"
        value={state}
        options={[['', 'any'], ...silenceStates]}
        choose={(chosen) => changeQuery({ state: chosen })}
      />
      <Panel title="The most unusual first" note="judged once an hour; at once by vitalsync profiles silent" flush>
        <Answered answer={answer} again={again}>
          {({ people, more }) => (
            <>
              <Table head={head} numbers={['unusual']} label="Silent people" empty={NOBODY_SILENT}>
                {people.map((person) => (
                  <SilentRow key={`${person.profileId} ${person.kind}`} person={person} />
                ))}
              </Table>
              {more && <p class="quiet">The first hundred: vitalsync profiles silent --csv has all.</p>}
            </>
          )}
        </Answered>
      </Panel>
      <Panel title="Together" note="people who have stopped sending" flush>
        <Answered answer={groups.answer} again={groups.again}>
          {(found) => <Groups groups={found} />}
        </Answered>
      </Panel>
      <ValidDays />
    </>
  )
}

const NOBODY_SILENT = 'Nobody was silent when it was judged last, or nobody was judged yet.'
const head = ['person', 'what', 'silent for', 'usually', 'unusual', 'last', 'came last']

const shownHours = (hours: number | null) => (hours === null ? 'no habit' : shownSpan(hours * HOUR))

const SilentRow = ({ person }: { person: Json<SilentAnswer>['people'][number] }) => (
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
    <td class="number">{person.unusual === null ? '' : formatShare(person.unusual)}</td>
    <td class="time">{shownInstant(person.lastAt)}</td>
    <td>{[person.device, ...person.lastKinds].filter((text) => text !== null).join(' ')}</td>
  </tr>
)

const Groups = ({ groups }: { groups: Json<SilenceGroupsAnswer> }) => (
  <Table
    head={['by', 'group', 'silent', 'of', 'share', 'since']}
    numbers={['silent', 'of', 'share']}
    label="Groups"
    empty="No group has silent people."
  >
    {groups.map(({ by, name, silent, people, since }) => (
      <tr key={`${by} ${name}`}>
        <td>{by}</td>
        <Cell max={100}>{name}</Cell>
        <td class="number">{shownNumber(silent)}</td>
        <td class="number">{shownNumber(people)}</td>
        <td class="number">{formatShare(silent / people)}</td>
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
    <Panel title="Valid days by cohort" note="per cent of each week; warehouse.adherence">
      <Answered answer={answer} again={again}>
        {({ measures, weeks, cohorts, isTooLarge }) => (
          <>
            <LabelledSelect
              label="Measure"
              value={measure}
              options={measures}
              choose={(chosen) => changeQuery({ measure: chosen })}
            />
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
