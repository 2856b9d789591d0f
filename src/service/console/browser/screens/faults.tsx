import { useSignal } from '@preact/signals'
import { formatShare, shellQuoted } from '../../../../base/text/readable.ts'
import { act, type Json, useAnswer } from '../../../../web/browser/ask.ts'
import { Action, Answered, Cell, Empty, Panel, Table, Tag } from '../../../../web/browser/parts.tsx'
import { shownCount } from '../../../../web/browser/shown.ts'
import type { CastAnswer } from '../../routes/sandbox-routes.ts'
import { into } from '../console-parts.tsx'
import { controlCurl, type LiveSandbox, liveSandbox, mayChange, toneOfStatus } from '../console-state.ts'

type Fault = Json<CastAnswer>['faults'][number]
type Rule = LiveSandbox['faults'][number]

const points: Readonly<Record<Fault['when'], string>> = {
  door: 'At the door: before the work is done',
  answer: 'In the answer: the work is done and stored',
  records: 'In the records of the answer',
  frame: 'In the headers of the answer, its coding, and the body of an error',
}

/** The faults that can be switched on, the ones that are on, and the requests that meet them. */
export function FaultsScreen() {
  const { answer, again } = useAnswer<CastAnswer>('cast')
  const sandbox = liveSandbox.value
  return (
    <>
      <h1 class="head">Faults and journal</h1>
      <Active rules={sandbox?.faults} />
      <div class="grid two wide-first">
        <div class="beside">
          <JournalPanel sandbox={sandbox} />
        </div>
        <Answered answer={answer} again={again}>
          {({ faults }) => (
            <div class="stack">
              {Object.entries(points).map(([when, title]) => (
                <Panel key={when} title={title} flush>
                  <Table head={['fault', '']} label={title}>
                    {faults
                      .filter((fault) => fault.when === when)
                      .map((fault) => (
                        <tr key={fault.name}>
                          <td>
                            <span class="mono">{fault.name}</span>
                            <p class="quiet">{fault.what.replaceAll('`', '')}</p>
                          </td>
                          <td class="actions">{mayChange.value && <SwitchOn fault={fault} />}</td>
                        </tr>
                      ))}
                  </Table>
                </Panel>
              ))}
            </div>
          )}
        </Answered>
      </div>
    </>
  )
}

function Active({ rules }: { rules: readonly Rule[] | undefined }) {
  const clear = async () => {
    await act('faults/clear')
    return 'No fault is on.'
  }
  if (!rules) return <p class="loading">Loading …</p>
  if (rules.length === 0) return <p class="sentence well">No fault is on: the sandbox answers as the real service.</p>
  return (
    <Panel
      title="On now"
      aside={
        mayChange.value && <Action label="Switch all off" command={controlCurl('DELETE', '/faults')} run={clear} />
      }
      flush
    >
      <Table
        head={['fault', 'share', 'struck', 'operations', 'people', '']}
        numbers={['share', 'struck']}
        label="Faults that are on"
      >
        {rules.map((rule) => (
          <tr key={JSON.stringify({ ...rule, met: 0 })}>
            <td class="mono">{rule.name}</td>
            <td class="number">{formatShare(rule.rate)}</td>
            <td class="number">
              <b>{rule.met}</b>
              {rule.timesMax === undefined ? '' : ` of ${rule.timesMax}`}
            </td>
            <td>{rule.operations?.join(', ') ?? 'all'}</td>
            <Cell max={80}>{rule.profiles?.join(', ') ?? 'everybody'}</Cell>
            <td class="actions">{mayChange.value && <SwitchOff rule={rule} />}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function SwitchOff({ rule: { name } }: { rule: Rule }) {
  const remove = async () => {
    await act('faults/remove', { name })
    return 'It is off.'
  }
  return <Action label="Switch off" about={name} command={controlCurl('DELETE', `/faults?name=${name}`)} run={remove} />
}

/** The share of requests, or of records, that it strikes; how often at most; and its own settings. */
function SwitchOn({ fault: { name, settings } }: { fault: Fault }) {
  const percent = useSignal(100)
  const timesMax = useSignal('')
  const person = useSignal('')
  const chosen = useSignal<Readonly<Record<string, number>>>(settings)
  const names = Object.keys(settings)
  const rule = {
    name,
    rate: percent.value / 100,
    ...(timesMax.value === '' ? {} : { timesMax: Number(timesMax.value) }),
    ...(person.value === '' ? {} : { profiles: [person.value] }),
    ...(names.length === 0 ? {} : { settings: chosen.value }),
  }
  const add = async () => {
    await act('faults/add', rule)
    return 'It is on: the next requests meet it.'
  }
  const body = shellQuoted(JSON.stringify(rule))
  return (
    <Action
      label="Switch on"
      about={name}
      command={controlCurl('POST', '/faults', body)}
      confirm={
        <div class="inputs">
          <label class="block">
            Share in %
            <input
              type="number"
              min={0}
              max={100}
              value={percent.value}
              onInput={({ currentTarget }) => {
                percent.value = Math.min(100, Math.max(0, Number(currentTarget.value)))
              }}
            />
          </label>
          <label class="block">
            At most so often
            <input type="number" min={1} placeholder="no limit" value={timesMax.value} onInput={into(timesMax)} />
          </label>
          <label class="block">
            Only this person
            <input placeholder="everybody" maxLength={100} value={person.value} onInput={into(person)} />
          </label>
          {names.map((setting) => (
            <label key={setting} class="block">
              {setting}
              <input
                type="number"
                min={0}
                value={chosen.value[setting]}
                onInput={(event) => {
                  chosen.value = { ...chosen.value, [setting]: Number(event.currentTarget.value) }
                }}
              />
            </label>
          ))}
        </div>
      }
      run={add}
    />
  )
}

function JournalPanel({ sandbox }: { sandbox: LiveSandbox | undefined }) {
  const clear = async () => {
    await act('journal/clear')
    return 'The journal is empty.'
  }
  return (
    <Panel
      title="Journal"
      note={sandbox && `${shownCount(sandbox.requests, 'request')}, the newest first`}
      aside={mayChange.value && <Action label="Clear" command={controlCurl('DELETE', '/journal')} run={clear} />}
      flush
    >
      {sandbox && sandbox.newest.length === 0 ? (
        <Empty>No request came yet. The query builder sends one.</Empty>
      ) : (
        <div class="journal">
          <Table head={['at', 'operation', 'person', 'outcome', 'ms']} numbers={['ms']} label="Journal">
            {(sandbox?.newest ?? []).map((entry, place) => (
              <tr key={`${entry.at} ${place}`} class={entry.faults.length > 0 ? 'struck' : ''}>
                <td class="time">{entry.at.slice(11, 19)}</td>
                <td>{entry.operation}</td>
                <Cell max={50}>{entry.profile ?? ''}</Cell>
                <td>
                  <Tag tone={toneOf(entry.outcome)}>{entry.outcome}</Tag>{' '}
                  {entry.faults.map((fault) => (
                    <Tag key={fault} tone="odd">
                      {fault}
                    </Tag>
                  ))}
                </td>
                <td class="number">{entry.durationMs}</td>
              </tr>
            ))}
          </Table>
        </div>
      )}
    </Panel>
  )
}

const toneOf = (outcome: string): string => (/^\d+$/.test(outcome) ? toneOfStatus(Number(outcome)) : 'bad')
