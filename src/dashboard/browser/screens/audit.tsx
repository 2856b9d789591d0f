import { address, changeQuery } from '../../../web/browser/address.ts'
import { useAnswer } from '../../../web/browser/ask.ts'
import { DraftInput, LabelledSelect } from '../../../web/browser/inputs.tsx'
import { Answered, Cell, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownInstant, shownZone } from '../../../web/browser/shown.ts'
import type { AuditAnswer } from '../../routes/audit-routes.ts'
import { followed } from '../dashboard-state.ts'
import { PageLinks, PersonLink } from '../links.tsx'

const filters = ['who', 'action', 'profileId', 'before'] as const

/** Looks at health values and actions, each with its person. */
export function AuditScreen() {
  const { query } = address.value
  const asked = Object.fromEntries(
    filters.flatMap((name) => {
      const value = query.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
  const { answer, again } = useAnswer<AuditAnswer>('audit', asked, {
    follow: followed(({ counts }) => counts?.value.newestAuditId),
  })
  const { names = [], actions = [] } = answer.state === 'here' ? answer.value : {}
  return (
    <>
      <h1 class="head">Audit</h1>
      <div class="row">
        <Choice label="Who" name="who" values={names} />
        <Choice label="What" name="action" values={actions} />
        <label>
          Person{' '}
          <DraftInput
            type="search"
            value={query.get('profileId') ?? ''}
            placeholder="our id"
            onCommit={(text) => changeQuery({ profileId: text.replaceAll(/\D/g, ''), before: '' })}
          />
        </label>
      </div>
      <Panel title="Looks and actions" note={`kept for 400 days; times are ${shownZone()}`} flush>
        <Answered answer={answer} again={again}>
          {({ entries, nextBefore }) => (
            <>
              <Table
                head={['at', 'who', 'role', 'what', 'person', 'details']}
                label="Audit"
                empty="Nobody has looked at health values or acted, as far as this filter says."
              >
                {entries.map((entry) => (
                  <tr key={entry.id}>
                    <td class="time">{shownInstant(entry.at, 'seconds')}</td>
                    <Cell max={64}>{entry.who}</Cell>
                    <td>{entry.role}</td>
                    <td class="time">{entry.action}</td>
                    <td>{entry.profileId && <PersonLink profileId={entry.profileId} name={entry.name} />}</td>
                    <td class="wide small">
                      <Text max={160}>{detailsOf(entry.what)}</Text>
                    </td>
                  </tr>
                ))}
              </Table>
              <PageLinks before={query.get('before')} nextBefore={nextBefore} />
            </>
          )}
        </Answered>
      </Panel>
    </>
  )
}

function Choice({ label, name, values }: { label: string; name: 'who' | 'action'; values: readonly string[] }) {
  const chosen = address.value.query.get(name) ?? ''
  const offered = chosen === '' || values.includes(chosen) ? values : [chosen, ...values]
  return (
    <LabelledSelect
      label={label}
      value={chosen}
      options={[['', 'all'], ...offered]}
      choose={(value) => changeQuery({ [name]: value, before: '' })}
    />
  )
}

/** `runId 12 · streams scores` */
const detailsOf = (what: Readonly<Record<string, unknown>>): string =>
  Object.entries(what)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
