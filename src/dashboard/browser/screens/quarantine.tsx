import { address, changeQuery } from '../../../web/browser/address.ts'
import { type Json, useAnswer } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Answered, Empty, Link, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownCount, shownNumber, shownText } from '../../../web/browser/shown.ts'
import type { QuarantineAnswer, QuarantineGroupsAnswer } from '../../routes/quarantine-routes.ts'
import { ChoiceActions, Preview } from '../choice-actions.tsx'
import { followedCounts, mayAct } from '../dashboard-state.ts'
import { CausePageLinks, causesQuery, PageLinks, PersonLink, pageOfCauses } from '../links.tsx'
import { WholeRecord } from '../quarantined-record.tsx'
import { SelectAll, SelectRow, useSelection } from '../selection.tsx'

type Group = Json<QuarantineGroupsAnswer>['groups'][number]

/** Records that did not fit, by reason; one of them whole, beside what would fit. */
export function QuarantineScreen() {
  const { query } = address.value
  const { answer, again } = useAnswer<QuarantineGroupsAnswer>('quarantine-groups', causesQuery(query), followedCounts())
  const [id, cause] = [query.get('id'), query.get('cause')]
  const after = () => {
    changeQuery({ id: '' }, { replace: true })
    again()
  }
  return (
    <>
      <h1 class="head">Quarantine</h1>
      {id && <WholeRecord id={id} after={after} />}
      <Answered answer={answer} again={again}>
        {(page) =>
          page.groups.length === 0 ? (
            <Panel title="By reason">
              <Empty>It is empty: every record fitted.</Empty>
            </Panel>
          ) : (
            <>
              <Groups page={page} after={after} />
              {cause && (
                <RecordsOf cause={cause} group={page.groups.find((group) => group.cause === cause)} after={after} />
              )}
            </>
          )
        }
      </Answered>
    </>
  )
}

function Groups({ page, after }: { page: Json<QuarantineGroupsAnswer>; after: () => void }) {
  const { groups, total, nextBefore } = page
  return (
    <Panel
      title="By reason"
      aside={
        <span class="row small quiet">
          {shownCount(total, 'record')}
          {mayAct.value && (
            <ChoiceActions
              of="quarantine"
              what="all"
              about={shownCount(total, 'record')}
              choice={{ all: true }}
              option="--all"
              count={total}
              after={after}
            />
          )}
        </span>
      }
      flush
    >
      <Table
        head={['count', 'people', 'of', 'where, and why', 'first, and last seen', '']}
        numbers={['count', 'people']}
        label="Quarantined records by reason"
      >
        {groups.map((group) => (
          <tr key={group.cause}>
            <td class="number">{shownNumber(group.count)}</td>
            <td class="number">{shownNumber(group.profiles)}</td>
            <td class="time">
              {group.stream}
              <span class="small quiet"> {group.direction}</span>
            </td>
            <td class="wide">
              {group.path !== '' && <code>{shownText(group.path, 80)}</code>}{' '}
              <Link to={`/quarantine?${new URLSearchParams({ ...pageOfCauses(), cause: group.cause })}`}>
                <Text max={140}>{group.reason}</Text>
              </Link>
            </td>
            <td class="time">
              {shownAge(group.firstSeenAt, nowMs.value)}
              <p class="quiet">{shownAge(group.lastSeenAt, nowMs.value)}</p>
            </td>
            <td class="actions">
              {mayAct.value && (
                <ChoiceActions
                  of="quarantine"
                  what="group"
                  about={shownText(group.reason, 60)}
                  choice={{ cause: group.cause }}
                  option={`--cause ${group.cause}`}
                  count={group.count}
                  after={after}
                />
              )}
            </td>
          </tr>
        ))}
      </Table>
      <CausePageLinks before={address.value.query.get('causes')} nextBefore={nextBefore} />
    </Panel>
  )
}

/** A page of the records of one reason; the address holds where it begins. */
function RecordsOf({ cause, group, after: afterAll }: { cause: string; group: Group | undefined; after: () => void }) {
  const before = address.value.query.get('before')
  const query = before === null ? { cause } : { cause, before }
  const { answer, again } = useAnswer<QuarantineAnswer>('quarantine', query, followedCounts())
  const records = answer.state === 'here' ? answer.value.records : []
  const ids = records.map(({ id }) => id)
  const selection = useSelection(ids)
  const after = () => {
    again()
    afterAll()
  }
  return (
    <Panel
      title="Records of this reason"
      aside={
        <span class="row small quiet">
          {group && `${ids.length} of ${shownNumber(group.count)}`}
          {mayAct.value && ids.length > 0 && <SelectAll selection={selection} ids={ids} />}
          {mayAct.value && selection.ids.length > 0 && (
            <ChoiceActions
              of="quarantine"
              what="selected"
              about={`${selection.ids.length} selected`}
              choice={{ ids: selection.ids }}
              option={selection.ids.join(' ')}
              count={selection.ids.length}
              preview={<RecordsPreview records={records.filter(({ id }) => selection.has(id))} />}
              after={after}
            />
          )}
        </span>
      }
      flush
    >
      <Answered answer={answer} again={again}>
        {({ records: shown, nextBefore }) => (
          <>
            <Table head={['', 'record', 'person', 'times', 'last seen']} numbers={['times']} label="Records">
              {shown.map((record) => (
                <tr key={record.id}>
                  <td>{mayAct.value && <SelectRow selection={selection} id={record.id} label={record.id} />}</td>
                  <td>
                    <Link to={`/quarantine?${new URLSearchParams({ ...pageOfCauses(), cause, id: record.id })}`}>
                      {record.id}
                    </Link>
                  </td>
                  <td>
                    <PersonLink profileId={record.profileId} name={record.name} />
                  </td>
                  <td class="number">{record.times}</td>
                  <td class="time">{shownAge(record.lastSeenAt, nowMs.value)}</td>
                </tr>
              ))}
            </Table>
            <PageLinks before={before} nextBefore={nextBefore} />
          </>
        )}
      </Answered>
    </Panel>
  )
}

const RecordsPreview = ({ records }: { records: Json<QuarantineAnswer>['records'] }) => (
  <Preview count={records.length}>
    {records.map(({ id, name, stream }) => (
      <li key={id}>
        {id}: {stream} of <Text max={60}>{name}</Text>
      </li>
    ))}
  </Preview>
)
