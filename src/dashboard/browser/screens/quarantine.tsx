import { address, changeQuery } from '../../../web/browser/address.ts'
import { act, type Json, useAnswer } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Action, Answered, Empty, Link, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownCount } from '../../../web/browser/shown.ts'
import type { QuarantineAnswer, QuarantinedAnswer } from '../../routes/quarantine-routes.ts'
import { mayAct } from '../dashboard-state.ts'
import { PersonLink } from '../links.tsx'

type Records = Json<QuarantineAnswer>

/** Records that did not fit, by reason; one of them whole, beside what would fit. */
export function QuarantineScreen() {
  const { answer, again } = useAnswer<QuarantineAnswer>('quarantine')
  const id = address.value.query.get('id')
  return (
    <>
      <h1 class="head">Quarantine</h1>
      {id && <Whole id={id} again={again} />}
      <Answered answer={answer} again={again}>
        {(records) =>
          records.length === 0 ? (
            <Panel title="Records">
              <Empty>It is empty: every record fitted.</Empty>
            </Panel>
          ) : (
            <>
              {mayAct.value && (
                <div class="row">
                  <Replay
                    label="Replay all"
                    records={records}
                    again={again}
                    command="vitalsync quarantine replay --all"
                    all
                  />
                </div>
              )}
              {[
                ...Map.groupBy(
                  records,
                  ({ stream, direction, path, reason }) => `${direction} ${stream} ${path} ${reason}`,
                ),
              ].map(([key, group]) => (
                <Group key={key} records={group} again={again} />
              ))}
            </>
          )
        }
      </Answered>
    </>
  )
}

function Group({ records, again }: { records: Records; again: () => void }) {
  const [first] = records
  if (!first) return null
  const title = `${first.stream} (${first.direction}): ${shownCount(records.length, 'record')}`
  const ids = records.map(({ id }) => id)
  return (
    <Panel
      title={title}
      label={`${title}, as record ${first.id}`}
      aside={
        mayAct.value && (
          <Replay
            label="Replay group"
            records={records}
            again={again}
            command={`vitalsync quarantine replay ${ids.join(' ')}`}
          />
        )
      }
      flush
    >
      <p class="reason">
        {first.path !== '' && <code>{first.path}</code>} <Text max={300}>{first.reason}</Text>
      </p>
      <Table
        head={['record', 'person', 'times', 'last seen']}
        numbers={['times']}
        label={`Records of ${title} ${first.id}`}
      >
        {records.slice(0, GROUP_SHOWN).map((one) => (
          <tr key={one.id}>
            <td>
              <Link to={`/quarantine?id=${one.id}`}>{one.id}</Link>
            </td>
            <td>
              <PersonLink profileId={one.profileId} name={one.name} />
            </td>
            <td class="number">{one.times}</td>
            <td class="time">{shownAge(one.lastSeenAt, nowMs.value)}</td>
          </tr>
        ))}
      </Table>
      {records.length > GROUP_SHOWN && (
        <p class="reason quiet">{shownCount(records.length - GROUP_SHOWN, 'further record')} with the same reason.</p>
      )}
    </Panel>
  )
}

const GROUP_SHOWN = 20

type ReplayProps = { label: string; records: Records; again: () => void; command: string; all?: boolean }

function Replay({ label, records, again, command, all = false }: ReplayProps) {
  const replay = async () => {
    const ids = records.map(({ id }) => id)
    const replayed = await act<{ pushed: number; reread: number }>('quarantine/replay', all ? {} : { ids })
    return `${shownCount(replayed.pushed, 'item')} will be pushed again; for ${shownCount(replayed.reread, 'record')} upstream is asked again. What still does not fit comes back.`
  }
  const after = () => {
    changeQuery({ id: '' })
    again()
  }
  return <Action label={label} about={records[0]?.id ?? ''} command={command} run={replay} after={after} />
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
                  records={[record]}
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
