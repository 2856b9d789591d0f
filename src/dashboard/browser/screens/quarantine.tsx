import { address, changeQuery } from '../../../web/browser/address.ts'
import { act, type Json, useAnswer } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Action, Answered, Empty, Link, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownCount } from '../../../web/browser/shown.ts'
import type { QuarantineAnswer, QuarantinedAnswer } from '../../routes/quarantine-routes.ts'
import { mayAct } from '../session.ts'

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
            command={`vitalsync quarantine replay ${ids.slice(0, 20).join(' ')}${ids.length > 20 ? ' …' : ''}`}
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
        {records.slice(0, 20).map((one) => (
          <tr key={one.id}>
            <td>
              <Link to={`/quarantine?id=${one.id}`}>{one.id}</Link>
            </td>
            <td>
              <Text max={60}>{one.name}</Text>
            </td>
            <td class="number">{one.times}</td>
            <td class="time">{shownAge(one.lastSeenAt, nowMs.value)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

type ReplayProps = { label: string; records: Records; again: () => void; command: string; all?: boolean }

function Replay({ label, records, again, command, all = false }: ReplayProps) {
  const replay = async () => {
    const ids = records.map(({ id }) => id)
    const told = await act<{ pushed: number; reread: number }>('quarantine/replay', all ? {} : { ids })
    return `${shownCount(told.pushed, 'item')} will be pushed again; for ${shownCount(told.reread, 'record')} upstream is asked again. What still does not fit comes back.`
  }
  const after = () => {
    changeQuery({ id: '' })
    again()
  }
  return <Action label={label} about={records[0]?.id ?? ''} command={command} run={replay} after={after} />
}

function Whole({ id, again }: { id: string; again: () => void }) {
  const { answer } = useAnswer<QuarantinedAnswer>('quarantine/record', { id })
  return (
    <Panel title={`Record ${id}`}>
      <Answered answer={answer}>
        {(record) => (
          <div class="grid two">
            <pre class="record" tabIndex={0}>
              <Text max={20_000}>{laidOut(record.body)}</Text>
            </pre>
            <div class="stack">
              <dl class="facts">
                <dt>Person</dt>
                <dd>
                  <Link to={`/people/${record.profileId}`}>
                    <Text max={60}>{record.name}</Text>
                  </Link>
                </dd>
                <dt>Where</dt>
                <dd>
                  <code>{record.path || 'the whole record'}</code>
                </dd>
                <dt>Why</dt>
                <dd>
                  <Text>{record.reason}</Text>
                </dd>
                <dt>What would fit</dt>
                <dd>
                  A value at this place that is not refused for the reason above: the shape of {record.stream} is in the
                  service’s reference.
                </dd>
              </dl>
              {mayAct.value && (
                <Replay
                  label="Replay this one"
                  records={[record]}
                  again={again}
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

/** One property a line, where it is JSON. */
function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
