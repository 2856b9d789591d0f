import { useSignal } from '@preact/signals'
import { DAY } from '../../../../base/time/units.ts'
import { address, changeQuery, goTo } from '../../../../web/browser/address.ts'
import { refusalOf } from '../../../../web/browser/ask.ts'
import { Action, Answered, Empty, Failed } from '../../../../web/browser/parts.tsx'
import { asCurl, asTypeScript } from '../as-code.ts'
import { CallerInputs } from '../caller-inputs.tsx'
import { chosenPerson } from '../callers.ts'
import { type ComposedRequest, composeRequest, type Filled, type ShownOperation } from '../compose.ts'
import { mayChange, operationOf, serviceNowMs, useOperations } from '../console-state.ts'
import { BodyInputs, ParameterInputs } from '../query-inputs.tsx'
import { authorize, codeCallerOf, type SentRequest, sendRequest } from '../send-request.ts'
import { RequestAsCode, SentAnswer } from '../sent-answer.tsx'

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
                      {operations.map((one) => (
                        <option key={one.name} value={one.name}>
                          {one.name}: {one.summary}
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
    if (operation.parameters.some((one) => one.name === name && isShareable(one))) changeQuery({ [name]: text })
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
