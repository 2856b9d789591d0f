import { type Json, useAnswer } from '../../web/browser/ask.ts'
import { nowMs } from '../../web/browser/live-state.ts'
import { Answered, Cell, Panel, Table, Text } from '../../web/browser/parts.tsx'
import { shownAge } from '../../web/browser/shown.ts'
import type { QuarantinedAnswer } from '../routes/quarantine-routes.ts'
import { ChoiceActions } from './choice-actions.tsx'
import { mayAct } from './dashboard-state.ts'
import { PersonLink } from './links.tsx'

const LINES_MAX = 400
const LINE_LENGTH_MAX = 2000

/** One record whole, beside its place, its reason and the values that would fit there. */
export function WholeRecord({ id, after }: { id: string; after: () => void }) {
  const { answer } = useAnswer<QuarantinedAnswer>('quarantine/record', { id })
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
                <ChoiceActions
                  of="quarantine"
                  what="this one"
                  about={id}
                  choice={{ ids: [id] }}
                  option={id}
                  count={1}
                  after={after}
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
          <Cell max={160}>{text}</Cell>
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
