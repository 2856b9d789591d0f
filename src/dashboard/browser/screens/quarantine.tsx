import { shellQuoted } from '../../../base/text/readable.ts'
import { address, changeQuery } from '../../../web/browser/address.ts'
import { act, type Json, useAnswer } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Action, Answered, Empty, Link, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownCount, shownNumber, shownText } from '../../../web/browser/shown.ts'
import type { QuarantineAnswer, QuarantinedAnswer, QuarantineGroupsAnswer } from '../../routes/quarantine-routes.ts'
import { followed, mayAct } from '../dashboard-state.ts'
import { PageLinks, PersonLink } from '../links.tsx'
import { SelectAll, SelectRow, useSelection } from '../selection.tsx'

type Group = Json<QuarantineGroupsAnswer>[number]
type Quarantined = Json<QuarantineAnswer>['records'][number]

const followQuarantine = () => ({ follow: followed(({ counts }) => counts?.value.quarantine) })

/** Records that did not fit, by reason; one of them whole, beside what would fit. */
export function QuarantineScreen() {
  const { answer, again } = useAnswer<QuarantineGroupsAnswer>('quarantine-groups', {}, followQuarantine())
  const { query } = address.value
  const [id, cause] = [query.get('id'), query.get('cause')]
  return (
    <>
      <h1 class="head">Quarantine</h1>
      {id && <Whole id={id} again={again} />}
      <Answered answer={answer} again={again}>
        {(groups) =>
          groups.length === 0 ? (
            <Panel title="By reason">
              <Empty>It is empty: every record fitted.</Empty>
            </Panel>
          ) : (
            <>
              <Groups groups={groups} again={again} />
              {cause && <RecordsOf cause={cause} group={groups.find((one) => one.cause === cause)} again={again} />}
            </>
          )
        }
      </Answered>
    </>
  )
}

function Groups({ groups, again }: { groups: readonly Group[]; again: () => void }) {
  const total = groups.reduce((sum, { count }) => sum + count, 0)
  return (
    <Panel
      title="By reason"
      aside={
        <span class="row small quiet">
          {shownCount(total, 'record')}
          {mayAct.value && (
            <Replay
              label="Replay all"
              about={shownCount(total, 'record')}
              chosen={{ all: true }}
              count={total}
              again={again}
              command="vitalsync quarantine replay --all"
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
              <Link to={`/quarantine?cause=${group.cause}`}>
                <Text max={140}>{group.reason}</Text>
              </Link>
            </td>
            <td class="time">
              {shownAge(group.firstSeenAt, nowMs.value)}
              <p class="quiet">{shownAge(group.lastSeenAt, nowMs.value)}</p>
            </td>
            <td class="actions">
              {mayAct.value && (
                <Replay
                  label="Replay group"
                  about={shownText(group.reason, 60)}
                  chosen={{ cause: group.cause }}
                  count={group.count}
                  again={again}
                  command={commandOf(group)}
                />
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

/** The commands choose by number; `list` finds the numbers of a reason. */
function commandOf({ stream, direction, path, reason, count }: Group): string {
  const program = `select(.path == ${JSON.stringify(path)} and .reason == ${JSON.stringify(reason)}) | .id`
  const list = `vitalsync quarantine list --stream ${stream} --way ${direction} --limit ${count} --json`
  return `${list} | jq -r ${shellQuoted(program)} | xargs vitalsync quarantine replay`
}

type RecordsProps = { cause: string; group: Group | undefined; again: () => void }

/** A page of the records of one reason; the address holds where it begins. */
function RecordsOf({ cause, group, again: againAll }: RecordsProps) {
  const before = address.value.query.get('before')
  const query = before === null ? { cause } : { cause, before }
  const { answer, again } = useAnswer<QuarantineAnswer>('quarantine', query, followQuarantine())
  const records = answer.state === 'here' ? answer.value.records : []
  const ids = records.map(({ id }) => id)
  const selection = useSelection(ids)
  const after = () => {
    again()
    againAll()
  }
  return (
    <Panel
      title="Records of this reason"
      aside={
        <span class="row small quiet">
          {group && `${ids.length} of ${shownNumber(group.count)}`}
          {mayAct.value && ids.length > 0 && <SelectAll selection={selection} ids={ids} />}
          {mayAct.value && selection.ids.length > 0 && (
            <Replay
              label="Replay selected"
              about={`${selection.ids.length} selected`}
              chosen={{ ids: selection.ids }}
              count={selection.ids.length}
              preview={records.filter(({ id }) => selection.has(id))}
              again={after}
              command={`vitalsync quarantine replay ${selection.ids.join(' ')}`}
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
              {shown.map((one) => (
                <tr key={one.id}>
                  <td>{mayAct.value && <SelectRow selection={selection} id={one.id} label={one.id} />}</td>
                  <td>
                    <Link to={`/quarantine?cause=${cause}&id=${one.id}`}>{one.id}</Link>
                  </td>
                  <td>
                    <PersonLink profileId={one.profileId} name={one.name} />
                  </td>
                  <td class="number">{one.times}</td>
                  <td class="time">{shownAge(one.lastSeenAt, nowMs.value)}</td>
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

type ReplayProps = {
  readonly label: string
  readonly about: string
  readonly chosen: { all: true } | { cause: string } | { ids: readonly string[] }
  readonly count: number
  readonly preview?: readonly Quarantined[]
  readonly again: () => void
  readonly command: string
}

const PREVIEWED_MAX = 8

function Replay({ label, about, chosen, count, preview = [], again, command }: ReplayProps) {
  const replay = async () => {
    const replayed = await act<{ pushed: number; reread: number }>('quarantine/replay', chosen)
    return `${shownCount(replayed.pushed, 'item')} will be pushed again; for ${shownCount(replayed.reread, 'record')} upstream is asked again. What still does not fit comes back.`
  }
  const after = () => {
    changeQuery({ id: '' }, { replace: true })
    again()
  }
  const confirm = (
    <>
      <p>
        {shownCount(count, 'record')}: items to be pushed wait again, and for records that were read upstream is asked
        again.
      </p>
      <ul class="preview small">
        {preview.slice(0, PREVIEWED_MAX).map(({ id, name, stream }) => (
          <li key={id}>
            {id}: {stream} of <Text max={60}>{name}</Text>
          </li>
        ))}
        {preview.length > PREVIEWED_MAX && <li class="quiet">and {preview.length - PREVIEWED_MAX} more</li>}
      </ul>
    </>
  )
  return <Action label={label} about={about} command={command} confirm={confirm} run={replay} after={after} />
}

const LINES_MAX = 400
const LINE_LENGTH_MAX = 2000

function Whole({ id, again }: { id: string; again: () => void }) {
  const { answer, again: askAgain } = useAnswer<QuarantinedAnswer>('quarantine/record', { id })
  const after = () => {
    askAgain()
    again()
  }
  return (
    <Panel title={`Record ${id}`}>
      <Answered answer={answer}>
        {(record) => (
          <div class="grid two">
            <pre class="record" tabIndex={0}>
              {laidOut(record.body)
                .split('\n')
                .slice(0, LINES_MAX)
                .map((line, index) => (
                  <div key={index}>
                    <Text max={LINE_LENGTH_MAX}>{line}</Text>
                  </div>
                ))}
            </pre>
            <div class="stack">
              <Fault record={record} />
              <Fitting record={record} />
              {mayAct.value && (
                <Replay
                  label="Replay this one"
                  about={id}
                  chosen={{ ids: [id] }}
                  count={1}
                  again={after}
                  command={`vitalsync quarantine replay ${id}`}
                />
              )}
            </div>
          </div>
        )}
      </Answered>
    </Panel>
  )
}

type WithRecord = { readonly record: Json<QuarantinedAnswer> }

function Fault({ record }: WithRecord) {
  return (
    <dl class="facts">
      <dt>Person</dt>
      <dd>
        <PersonLink profileId={record.profileId} name={record.name} />
      </dd>
      <dt>Where</dt>
      <dd>
        <code>{record.path || 'the whole record'}</code>
      </dd>
      <dt>Why</dt>
      <dd>
        <Text>{record.reason}</Text>
      </dd>
      <dt>It came</dt>
      <dd>
        {record.times === 1 ? 'once' : `${record.times} times`}, first {shownAge(record.firstSeenAt, nowMs.value)}
      </dd>
    </dl>
  )
}

/** Each field of the place beside the value that is there. */
function Fitting({ record: { fitting, body, path, stream } }: WithRecord) {
  const fields = valuesAt(body, fitting.length === 1 ? path.split('.').slice(0, -1) : path.split('.'))
  if (fitting.length === 0) return <p class="quiet">Nothing is known of the shape of {stream}.</p>
  return (
    <Table head={['field', 'what would fit', 'what is there']} label="What would fit">
      {fitting.map(({ name, required, text }) => (
        <tr key={name}>
          <td>
            <code>{name}</code>
            {required && <span class="small quiet"> required</span>}
          </td>
          <td>
            <Text max={160}>{text}</Text>
          </td>
          <td>
            {name in fields ? <Text max={80}>{JSON.stringify(fields[name])}</Text> : <span class="quiet">nothing</span>}
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** The fields of the object at a path; of the whole record where there is none. */
function valuesAt(body: string, path: readonly string[]): Record<string, unknown> {
  const isFields = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
  try {
    const whole: unknown = JSON.parse(body)
    let found = whole
    for (const word of path) if (isFields(found) && isFields(found[word])) found = found[word]
    return isFields(found) ? found : {}
  } catch {
    return {} // the body is not JSON
  }
}

/** One property a line, where it is JSON. */
function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
