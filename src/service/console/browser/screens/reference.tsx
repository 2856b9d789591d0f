import { Answered, Empty, Link, Panel, Table, Tag } from '../../../../web/browser/parts.tsx'
import type { Parameter, ShownOperation } from '../compose.ts'
import { CodeBlock, FieldsTable } from '../console-parts.tsx'
import { operationOf, toneOfStatus, useReference } from '../console-state.ts'

/** All operations, by the task for which one needs them. */
export function ReferenceScreen() {
  const { answer, again } = useReference()
  return (
    <>
      <div class="head">
        <h1>Reference</h1>
        <span class="grow" />
        <span class="small quiet">
          For programs: <a href="/openapi.json">openapi.json</a>. On one page: <a href="/docs">/docs</a>
        </span>
      </div>
      <Answered answer={answer} again={again}>
        {({ sections }) => (
          <>
            {sections.map(({ title, about, operations }) => (
              <Panel key={title} title={title} flush>
                <p class="about quiet">{about}</p>
                <Table head={['operation', 'address', 'caller', 'does']} label={title}>
                  {operations.map((operation) => (
                    <tr key={operation.name}>
                      <td>
                        <Link to={`/reference/${operation.name}`}>{operation.name}</Link>
                      </td>
                      <td class="mono address">
                        <b>{operation.method}</b> {operation.path.replace('/api/v1', '')}
                      </td>
                      <td>{operation.caller}</td>
                      <td>{operation.summary}</td>
                    </tr>
                  ))}
                </Table>
              </Panel>
            ))}
          </>
        )}
      </Answered>
    </>
  )
}

/** One operation: what it takes and answers in plain words, and a recorded request with its answer. */
export function OperationScreen({ params }: { params: Readonly<Record<string, string>> }) {
  const { answer, again } = useReference()
  return (
    <Answered answer={answer} again={again}>
      {({ sections, error }) => {
        const operation = operationOf(sections, params['operation'] ?? '')
        if (!operation) return <Empty>There is no such operation.</Empty>
        return <Operation operation={operation} errorAnswer={error?.answer ?? ''} />
      }}
    </Answered>
  )
}

function Operation({ operation, errorAnswer }: { operation: ShownOperation; errorAnswer: string }) {
  const { name, method, path, summary, callerWords, example } = operation
  return (
    <>
      <div class="head">
        <h1>{name}</h1>
        <span class="grow" />
        <Link to={`/query/${name}`} class="button">
          Try it
        </Link>
      </div>
      <p>
        <code class="mono break">
          <b>{method}</b> {path}
        </code>
      </p>
      <p>
        {summary}. <Link to="/authentication">{callerWords}</Link>
      </p>
      <div class="grid two">
        <Shapes operation={operation} />
        <div class="stack">
          {example && (
            <Panel title="An example">
              <CodeBlock text={example.curl} label="Request" />
              <p class="row">
                <Tag tone={toneOfStatus(example.status)}>{example.status}</Tag>
              </p>
              {example.answer !== '' && <CodeBlock text={example.answer} label="Its answer" />}
            </Panel>
          )}
          <Refusals operation={operation} errorAnswer={errorAnswer} />
        </div>
      </div>
    </>
  )
}

function Shapes({ operation: { parameters, body, answers } }: { operation: ShownOperation }) {
  return (
    <div class="stack">
      {parameters.length > 0 && (
        <Panel title="Parameters" flush>
          <FieldsTable
            label="Parameters"
            fields={parameters.map((one) => ({ ...one, path: one.name, note: noteOfParameter(one) }))}
          />
        </Panel>
      )}
      {body && (
        <Panel title={body.required ? 'Body' : 'Body, which may be absent'} flush>
          <p class="about">{body.shape}</p>
          {body.fields.length > 0 && <FieldsTable label="Body" fields={body.fields} />}
        </Panel>
      )}
      {answers.map(({ status, about, shape, fields }) => (
        <Panel
          key={status}
          title={`Answer ${status}`}
          label={`Answer ${status}`}
          aside={<span class="quiet">{about}</span>}
          flush
        >
          {shape !== '' && <p class="about">{shape}</p>}
          {fields.length > 0 && <FieldsTable label={`Answer ${status}`} fields={fields} />}
        </Panel>
      ))}
    </div>
  )
}

const noteOfParameter = ({ location, note, choices }: Parameter): string =>
  [location === 'query' ? '' : `in the ${location}`, note, choices.length > 0 ? `one of ${choices.join(', ')}` : '']
    .filter((part) => part !== '')
    .join('; ')

function Refusals({ operation: { errors }, errorAnswer }: { operation: ShownOperation; errorAnswer: string }) {
  return (
    <Panel title="Refusals, all of one shape" flush>
      <Table head={['status', 'meaning']} label="Refusals">
        {errors.map(({ status, about }) => (
          <tr key={status}>
            <td>{status}</td>
            <td>{about}</td>
          </tr>
        ))}
      </Table>
      <div class="inset">
        <CodeBlock text={errorAnswer} label="A refusal" />
      </div>
    </Panel>
  )
}
