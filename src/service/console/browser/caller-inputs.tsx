import { useEffect } from 'preact/hooks'
import { type Json, useAnswer } from '../../../web/browser/ask.ts'
import { Panel } from '../../../web/browser/parts.tsx'
import { shownText } from '../../../web/browser/shown.ts'
import type { PeopleFound } from '../routes/caller-routes.ts'
import type { KeysAnswer } from '../routes/key-routes.ts'
import { appKey, chosenAppKey, chosenKeyId, chosenPerson } from './callers.ts'
import type { ShownOperation } from './compose.ts'
import { into } from './console-parts.tsx'
import { consoleSession, mayChange } from './console-state.ts'

/** The credentials that an operation asks for: a key whose account gets the token, a person, or an app key. */
export function CallerInputs({ operation: { caller, callerWords, path, name } }: { operation: ShownOperation }) {
  const needsPerson = caller === 'profile' || path.includes('{externalId}') || name === 'profileToken'
  return (
    <Panel title="Who asks" note={callerWords}>
      <div class="inputs">
        {(caller === 'account' || caller === 'profile' || name === 'accountToken') && <KeyInput />}
        {caller === 'app' && <AppKeyInputs />}
        {needsPerson && <PersonInput />}
      </div>
    </Panel>
  )
}

function KeyInput() {
  const { answer } = useAnswer<KeysAnswer>('keys')
  const keys =
    answer.state === 'here' ? answer.value.filter(({ kind, revokedAt }) => kind === 'client' && !revokedAt) : []
  const first = keys.find(({ isOwn }) => isOwn) ?? keys[0]
  useEffect(() => {
    const isThere = keys.some(({ publicId }) => publicId === chosenKeyId.value)
    if (answer.state === 'here' && !isThere) chosenKeyId.value = first?.publicId ?? ''
  }, [answer])
  return (
    <label class="block">
      Client key
      <select value={chosenKeyId.value} onChange={into(chosenKeyId)}>
        {keys.length === 0 && <option value="">none: make one under API keys</option>}
        {keys.map((key) => (
          <option key={key.publicId} value={key.publicId}>
            {keyWords(key)}
          </option>
        ))}
      </select>
    </label>
  )
}

const keyWords = ({ account, label, publicId }: Json<KeysAnswer>[number]): string =>
  shownText([account, label, publicId].filter((part) => part !== '').join(' · '), 80)

/** Names of people are suggested as one types. */
function PersonInput() {
  return (
    <label class="block">
      Person (externalId)
      <input list="people" maxLength={100} value={chosenPerson.value} autocomplete="off" onInput={into(chosenPerson)} />
      {chosenKeyId.value === '' || !mayChange.value ? null : <PeopleFoundList keyId={chosenKeyId.value} />}
    </label>
  )
}

function PeopleFoundList({ keyId }: { keyId: string }) {
  const { answer } = useAnswer<PeopleFound>('people', { keyId, search: chosenPerson.value })
  const people = answer.state === 'here' ? answer.value.people : []
  useEffect(() => {
    const first = people.find((name) => !/newcomer/.test(name)) ?? people[0]
    // Somebody who types already is not interrupted.
    const isTyping = document.activeElement instanceof HTMLInputElement
    if (!isTyping && chosenPerson.value === '' && first !== undefined) chosenPerson.value = first
  }, [answer.state])
  return (
    <datalist id="people">
      {people.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  )
}

export function AppKeyInputs() {
  const { credentials } = consoleSession.value
  const { id, secret } = chosenAppKey()
  if (credentials && id === credentials.appId) return <p class="quiet">The app key of the sandbox: {id}</p>
  return (
    <>
      <label class="block">
        AppId
        <input
          value={id}
          maxLength={100}
          autocomplete="off"
          onInput={(event) => {
            appKey.value = { id: event.currentTarget.value, secret }
          }}
        />
      </label>
      <label class="block">
        AppSecret
        <input
          type="password"
          value={secret}
          maxLength={500}
          autocomplete="off"
          onInput={(event) => {
            appKey.value = { id, secret: event.currentTarget.value }
          }}
        />
      </label>
    </>
  )
}
