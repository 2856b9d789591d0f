import { useSignal } from '@preact/signals'
import { DAY } from '../../../../base/time/units.ts'
import { address, changeQuery, goTo } from '../../../../web/browser/address.ts'
import { refusalOf } from '../../../../web/browser/ask.ts'
import { Segments } from '../../../../web/browser/inputs.tsx'
import { Action, Answered, Empty, Failed, Panel, Tag } from '../../../../web/browser/parts.tsx'
import { shownNumber, shownSpan, shownText } from '../../../../web/browser/shown.ts'
import { asCurl, asTypeScript } from '../as-code.ts'
import { CallerInputs } from '../caller-inputs.tsx'
import { chosenPerson } from '../callers.ts'
import { type ComposedRequest, composeRequest, type Filled, isSecret, type ShownOperation } from '../compose.ts'
import { CodeBlock } from '../console-parts.tsx'
import { mayChange, operationOf, serviceNowMs, toneOfStatus, useOperations } from '../console-state.ts'
import { BodyInputs, ParameterInputs } from '../query-inputs.tsx'
import { authorize, codeCallerOf, type SentRequest, sendRequest } from '../send-request.ts'

const FIRST = 'scoresOf'
const DAYS_ASKED = 3

/** Composes any of the operations, sends it, and shows the same for programs. */
export function QueryScreen({ params }: { params: Readonly<Record<string, string>> }) {
  const { answer, again } = useOperations()
  const name = params['operation'] ?? FIRST
  return (
    <>
      <h1 class="head">Query builder</h1>
      {!mayChange.value && <p class="note">You may look, and not act: no token is filled in.</p>}
      <Answered answer={answer} again={again}>
        {({ sections }) => {
          const operation = operationOf(sections, name)
          return (
            <>
              <label class="block">
                Operation
                <select value={name} onChange={(event) => goTo(`/query/${event.currentTarget.value}`)}>
                  {sections.map(({ title, operations }) => (
                    <optgroup key={title} label={title}>
                      {operations.map((operation) => (
                        <option key={operation.name} value={operation.name}>
                          {operation.name}: {operation.summary}
                        </option>
                      ))}
                    </optgroup>
                  ))}
                </select>
              </label>
              {operation ? <Builder key={name} operation={operation} /> : <Empty>There is no such operation.</Empty>}
            </>
          )
        }}
      </Answered>
    </>
  )
}

/** Parameters that may stand in an address: an address lands in histories, and names of people and bodies do not. */
const isShareable = ({ name, location }: ShownOperation['parameters'][number]): boolean =>
  location === 'query' && name !== 'externalId' && name !== 'searchParameter'

function firstValues(operation: ShownOperation): Filled {
  const { query } = address.value
  const shared = operation.parameters.filter(isShareable).flatMap(({ name }) => {
    const text = query.get(name)
    return text === null ? [] : [[name, text]]
  })
  const asksForRange = operation.parameters.some(({ name }) => name === 'endDateTime')
  const day = (daysAgo: number) => `${new Date(serviceNowMs() - daysAgo * DAY).toISOString().slice(0, 10)}T00:00:00Z`
  const range = asksForRange && shared.length === 0 ? { startDateTime: day(DAYS_ASKED), endDateTime: day(-1) } : {}
  const { body } = operation
  const json = body && !body.inputs && body.example !== null ? { body: JSON.stringify(body.example, null, 2) } : {}
  return { ...range, ...json, ...Object.fromEntries(shared) }
}

/** The person is chosen once for all operations: by path, by body, or by the token. */
const withPerson = (operation: ShownOperation, filled: Filled): Filled => ({
  ...filled,
  ...(operation.path.includes('{externalId}') ? { externalId: chosenPerson.value } : {}),
  ...(operation.name === 'profileToken' ? { 'body.externalId': filled['body.externalId'] ?? chosenPerson.value } : {}),
})

function Builder({ operation }: { operation: ShownOperation }) {
  const filled = useSignal<Filled>(firstValues(operation))
  const sent = useSignal<SentRequest | undefined>(undefined)
  const error = useSignal('')
  const isBusy = useSignal(false)
  const authorized = authorize(operation)
  const given = withPerson(operation, { ...authorized.filled, ...filled.value })
  const composed = tryCompose(operation, given)
  const fill = (name: string, text: string) => {
    filled.value = { ...filled.value, [name]: text }
    if (operation.parameters.some((parameter) => parameter.name === name && isShareable(parameter)))
      changeQuery({ [name]: text }, { replace: true })
  }
  const send = async () => {
    isBusy.value = true
    error.value = ''
    try {
      sent.value = await sendRequest(operation, composeRequest(operation, given))
    } catch (thrown) {
      error.value = refusalOf(thrown).hint || refusalOf(thrown).message
    } finally {
      isBusy.value = false
    }
    return sent.value ? `Sent: ${sent.value.status || 'no answer'}` : 'Not sent.'
  }
  const code = composed.request && { operation, request: composed.request, caller: codeCallerOf() }
  const isBlocked = isBusy.value || composed.request === undefined || !authorized.isReady
  return (
    <div class="builder">
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isBlocked && operation.method !== 'DELETE') void send()
        }}
      >
        <CallerInputs operation={operation} />
        <ParameterInputs operation={operation} filled={given} fill={fill} />
        <BodyInputs operation={operation} filled={given} fill={fill} />
        <div class="row">
          <SendButton
            isDeletion={operation.method === 'DELETE'}
            curl={code ? asCurl(code) : ''}
            isBlocked={isBlocked}
            isBusy={isBusy.value}
            send={send}
          />
          <span class="quiet small">{composed.fault || authorized.missing}</span>
        </div>
        {error.value !== '' && <Failed error={refusalOf(new Error(error.value))} />}
      </form>
      <div class="stack">
        <SentAnswer sent={sent.value} />
        {code && <RequestAsCode curl={asCurl(code)} typeScript={asTypeScript(code)} request={code.request} />}
      </div>
    </div>
  )
}

type SendProps = {
  readonly isDeletion: boolean
  readonly curl: string
  readonly isBlocked: boolean
  readonly isBusy: boolean
  readonly send: () => Promise<string>
}

/** A deletion asks first. */
const SendButton = ({ isDeletion, curl, isBlocked, isBusy, send }: SendProps) =>
  isDeletion ? (
    <Action
      label="Send"
      tone="danger"
      disabled={isBlocked}
      confirm="This deletes people with all of their data. It cannot be taken back."
      command={curl}
      run={send}
    />
  ) : (
    <button type="submit" class="primary" disabled={isBlocked}>
      {isBusy ? 'Sending …' : 'Send'}
    </button>
  )

function tryCompose(operation: ShownOperation, given: Filled): { request?: ComposedRequest; fault: string } {
  try {
    return { request: composeRequest(operation, given), fault: '' }
  } catch (thrown) {
    return { fault: thrown instanceof Error ? thrown.message : String(thrown) }
  }
}

/** The answer as it came: status, time, headers, and the body, JSON by its lines. */
function SentAnswer({ sent }: { sent: SentRequest | undefined }) {
  if (!sent)
    return (
      <Panel title="Answer">
        <Empty>Nothing was sent yet.</Empty>
      </Panel>
    )
  const { status, statusText, headers, text, bytes, tookMs } = sent
  return (
    <Panel
      title="Answer"
      aside={
        <span class="row small" role="status">
          <Tag tone={status === 0 ? 'bad' : toneOfStatus(status)}>
            {status === 0 ? 'no answer' : `${status} ${statusText}`}
          </Tag>
          <span class="quiet">
            {shownSpan(tookMs)} · {shownNumber(bytes)} bytes
          </span>
        </span>
      }
    >
      <details>
        <summary>Headers</summary>
        <dl class="facts mono small">
          {headers.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd class="break">{shownText(value, 400)}</dd>
            </>
          ))}
        </dl>
      </details>
      {text === '' ? (
        <Empty>The answer has no body.</Empty>
      ) : (
        <CodeBlock text={byLines(text)} label="Body of the answer" tall />
      )}
    </Panel>
  )
}

/** JSON by its lines; tokens and secrets stay hidden, as on the whole page. */
function byLines(text: string): string {
  try {
    const hide = (name: string, value: unknown) =>
      isSecret(name) && typeof value === 'string' && name !== 'tokenType' ? '…' : value
    return JSON.stringify(JSON.parse(text), hide, 2)
  } catch {
    return text
  }
}

type CodeProps = {
  readonly request: ComposedRequest
  readonly curl: string
  readonly typeScript: string
}

const kinds = ['request', 'curl', 'TypeScript'] as const

/** The request, and the same for a shell and for Node, to copy. */
function RequestAsCode({ request, curl, typeScript }: CodeProps) {
  const shown = useSignal<(typeof kinds)[number]>('request')
  const copied = useSignal('')
  const texts = { request: asMessage(request), curl, TypeScript: typeScript }
  const text = texts[shown.value]
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => undefined)
    copied.value = shown.value
  }
  return (
    <Panel
      title="The same"
      aside={
        <span class="row">
          <Segments
            value={shown.value}
            options={kinds.map((kind) => [kind, kind] as const)}
            choose={(kind) => {
              shown.value = kind
            }}
          />
          <button type="button" class="plain" onClick={copy}>
            {copied.value === shown.value ? 'copied' : 'copy'}
          </button>
        </span>
      }
    >
      <CodeBlock text={text} label={`As ${shown.value}`} />
    </Panel>
  )
}

function asMessage({ method, path, headers, body }: ComposedRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const hidden = body?.replace(/("\w*(?:secret|token)\w*": ")[^"]*"/gi, '$1…"')
  return [`${method} ${path}`, ...lines, ...(hidden ? ['', hidden] : [])].join('\n')
}
