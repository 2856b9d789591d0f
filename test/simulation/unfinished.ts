import { subtract } from '../../src/base/time/spans.ts'
import { BEGIN, HISTORY, SETTLE } from './circumstances.ts'
import type { SimulatedUpstream } from './upstream.ts'
import type { ModelWarehouse } from './warehouse.ts'

type AtRest = {
  readonly model: ModelWarehouse
  readonly upstream: SimulatedUpstream
  readonly ids: readonly string[]
  readonly nowMs: number
  readonly busy: readonly string[]
}

/** The work that is left when nothing fails any more and time has passed. */
export function unfinishedIn(rest: AtRest): string[] {
  const { model, busy, ids } = rest
  const runs = [...model.data.runs.values()].flatMap((run) => {
    const counted = run.done + run.failed === run.enqueued || run.state === 'stopped'
    return run.state === 'running' || !counted
      ? [`run ${run.id} is ${run.state}: ${run.done} done and ${run.failed} failed of ${run.enqueued}`]
      : []
  })
  return [...busy.map((what) => `still at work: ${what}`), ...runs, ...ids.flatMap((id) => unfinishedOf(id, rest))]
}

function unfinishedOf(id: string, { model, upstream, nowMs }: AtRest): string[] {
  const here = model.data.people.get(id)
  if (!here) {
    const names = [...upstream.people].filter(([name]) => model.data.tombstones.has(name))
    const back = names.filter(([, there]) => there.state === 'known')
    return back.map(([name]) => `${name} was erased here, and is there upstream`)
  }
  if (here.state === 'gone') return []
  const there = upstream.people.get(here.externalId)
  const wanted = { startMs: BEGIN - HISTORY, endMs: nowMs - 6 * SETTLE }
  const open = [...here.ledger].filter(
    ([stream, { covered }]) => stream !== 'data-logs' && subtract([wanted], covered).length > 0,
  )
  return [
    ...open.map(([stream]) => `${stream} of ${id} is not covered`),
    ...[...here.parcels.keys()].map((parcel) => `parcel ${parcel} of ${id} still waits`),
    ...(there?.state === 'known' && here.state === 'active'
      ? []
      : [`${id} is ${here.state} here, ${there?.state} there`]),
  ]
}
