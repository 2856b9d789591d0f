import { nowMs } from '../../web/browser/live-state.ts'
import { Panel, Table, Text } from '../../web/browser/parts.tsx'
import { shownAge, shownNumber } from '../../web/browser/shown.ts'
import type { LiveNow } from './dashboard-state.ts'

const DRIFT_SHOWN = 8

/** Absent while upstream says nothing that is not known. */
export function Drift({ now }: { readonly now: LiveNow }) {
  const drift = now.counts?.value.drift ?? []
  if (drift.length === 0) return null
  const left = drift.length - DRIFT_SHOWN
  return (
    <Panel
      title="Upstream says something that is not known"
      note={`${left > 0 ? `and ${shownNumber(left)} more: ` : ''}vitalsync drift list`}
      flush
    >
      <Table
        head={['stream', 'what', 'at', 'people', 'records', 'first seen']}
        numbers={['people', 'records']}
        label="Drift"
      >
        {drift.slice(0, DRIFT_SHOWN).map((entry) => (
          <tr key={entry.id}>
            <td class="time">{entry.stream}</td>
            <td class={entry.what === 'unit' ? 'tone-odd' : ''}>{entry.what}</td>
            <td class="wide">
              <Text max={120}>{`${entry.path} ${entry.detail} ${entry.cameAgainAt ? 'came again' : ''}`.trim()}</Text>
            </td>
            <td class="number">{shownNumber(entry.people)}</td>
            <td class="number">{shownNumber(entry.records)}</td>
            <td class="time">{shownAge(entry.firstSeenAt, nowMs.value)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
