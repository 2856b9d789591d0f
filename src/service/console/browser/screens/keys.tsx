import { useSignal } from '@preact/signals'
import { shellWord } from '../../../../base/text/readable.ts'
import { act, type Json, useAnswer } from '../../../../web/browser/ask.ts'
import { LabelledSelect } from '../../../../web/browser/inputs.tsx'
import { Action, Answered, Cell, Command, Panel, Table, Tag } from '../../../../web/browser/parts.tsx'
import { shownCount, shownInstant, shownText } from '../../../../web/browser/shown.ts'
import type { KeysAnswer } from '../../routes/key-routes.ts'
import { appKey, keepSecret } from '../callers.ts'
import { into } from '../console-parts.tsx'
import { mayChange } from '../console-state.ts'

type Key = Json<KeysAnswer>[number]
type Made = { readonly publicId: string; readonly secret: string }

/** The keys of all accounts: made, shown once, revoked. */
export function KeysScreen() {
  const { answer, again } = useAnswer<KeysAnswer>('keys')
  return (
    <>
      <h1 class="head">API keys</h1>
      {mayChange.value && <NewKey again={again} accounts={answer.state === 'here' ? accountsOf(answer.value) : []} />}
      <Answered answer={answer} again={again}>
        {(keys) => (
          <Panel title="Keys" note={shownCount(keys.length, 'key')} flush>
            <Table
              head={['id', 'kind', 'account', 'label', 'made', 'state', '']}
              label="Keys"
              empty="There is no key yet: nobody can sign in. Make the first one above."
            >
              {keys.map((key) => (
                <KeyRow key={key.publicId} shown={key} again={again} />
              ))}
            </Table>
          </Panel>
        )}
      </Answered>
    </>
  )
}

const accountsOf = (keys: readonly Key[]): string[] => [...new Set(keys.map(({ account }) => account))]

function KeyRow({ shown: key, again }: { shown: Key; again: () => void }) {
  const isRevoked = key.revokedAt !== null
  return (
    <tr>
      <td class="mono">{shownText(key.publicId, 60)}</td>
      <td>{key.kind}</td>
      <Cell max={60}>{key.account}</Cell>
      <Cell max={80}>{key.label}</Cell>
      <td class="time">{shownInstant(key.createdAt)}</td>
      <td class="time">
        {isRevoked ? <Tag>revoked {shownInstant(key.revokedAt)}</Tag> : <Tag tone="well">in use</Tag>}
      </td>
      <td class="actions">
        {mayChange.value &&
          !isRevoked &&
          (key.isOwn ? <span class="quiet small">the sandbox’s own</span> : <Revoke shown={key} again={again} />)}
      </td>
    </tr>
  )
}

function Revoke({ shown: { publicId, account }, again }: { shown: Key; again: () => void }) {
  const revoke = async () => {
    await act('keys/revoke', { keyId: publicId })
    return 'Revoked, and every token that descends from it.'
  }
  return (
    <Action
      label="Revoke"
      about={publicId}
      tone="danger"
      confirm={`Every token that descends from this key of ${shownText(account, 60)} ends now, those of people too. Their data stays. It cannot be taken back.`}
      command={`vitalsync service keys revoke ${shellWord(publicId)}`}
      run={revoke}
      after={again}
    />
  )
}

const keyKinds = [
  ['client', 'client: for a server'],
  ['app', 'app: registers people only'],
] as const

function NewKey({ again, accounts }: { again: () => void; accounts: readonly string[] }) {
  const account = useSignal('')
  const kind = useSignal<'client' | 'app'>('client')
  const label = useSignal('')
  const words = [
    'vitalsync service keys create',
    `--account ${shellWord(account.value.trim() || 'default')}`,
    ...(kind.value === 'app' ? ['--app'] : []),
    ...(label.value === '' ? [] : [`--label ${shellWord(label.value)}`]),
  ]
  const make = async () => {
    const given = { account: account.value.trim() || 'default', kind: kind.value, label: label.value }
    const made = await act<Made>('keys/make', given)
    keepSecret({ id: made.publicId, secret: made.secret })
    if (kind.value === 'app') appKey.value = { id: made.publicId, secret: made.secret }
    return <MadeKey made={made} kind={kind.value} />
  }
  return (
    <Panel title="Make a key">
      <div class="row">
        <label>
          Account
          <input list="accounts" placeholder="default" maxLength={100} value={account.value} onInput={into(account)} />
          <datalist id="accounts">
            {accounts.map((account) => (
              <option key={account} value={account} />
            ))}
          </datalist>
        </label>
        <LabelledSelect
          label="Kind"
          value={kind.value}
          options={keyKinds}
          choose={(chosen) => {
            kind.value = chosen === 'app' ? 'app' : 'client'
          }}
        />
        <label>
          Label
          <input maxLength={100} value={label.value} onInput={into(label)} />
        </label>
        <Action label="Make key" tone="primary" command={words.join(' ')} run={make} after={again} />
      </div>
    </Panel>
  )
}

function MadeKey({ made: { publicId, secret }, kind }: { made: Made; kind: 'client' | 'app' }) {
  return (
    <span class="stack">
      <span>The secret is shown now and never again.</span>
      <span class="pair">
        <span>{kind}Id</span>
        <Command line={publicId} />
        <span>{kind}Secret</span>
        <Command line={secret} />
      </span>
    </span>
  )
}
