import { streams } from '../../config/streams.ts'
import { openLedger } from '../warehouse/ledger.ts'
import type { Pool } from '../warehouse/pool.ts'
import { openProfiles } from '../warehouse/profiles.ts'
import { openReports } from '../warehouse/reports.ts'
import { DAY, SECOND } from '../window.ts'
import type { CommandContext } from './engines.ts'
import { type Chosen, idsOfNamed } from './gaps.ts'
import { withWarehouse } from './open.ts'
import { duration, many, number, table } from './terminal.ts'

export type PlanOptions = CommandContext &
  Chosen & { readonly from?: Date | undefined; readonly to?: Date | undefined; readonly again?: boolean }

type Tally = { stream: string; windows: number; covered: number }

const PAGE = 500

/** What a sync, or a back-fill of the range, would ask for: windows, requests, what is covered, and how long it takes. */
export async function plan(options: PlanOptions): Promise<number> {
  const { terminal, config } = options
  const result = await withWarehouse(options, async (pool) => {
    const { profiles, tallies } = await countWindows(pool, options)
    const windows = tallies.reduce((sum, { windows: n }) => sum + n, 0)
    const covered = tallies.reduce((sum, { covered: n }) => sum + n, 0)
    const outbox = await openReports({ pool }).outbox()
    const { requestsPerSecond } = config.budget
    return {
      profiles,
      fromAt: options.from ?? null,
      toAt: options.to ?? null,
      windows,
      covered,
      requests: windows,
      itemsWaiting: options.from ? 0 : outbox.reduce((sum, { waiting }) => sum + waiting, 0),
      requestsPerSecond,
      seconds: windows / requestsPerSecond,
      streams: tallies,
    }
  })
  if (terminal.json) terminal.printJson(result)
  else {
    const share = result.windows + result.covered === 0 ? 1 : result.covered / (result.windows + result.covered)
    terminal.print(
      [
        table(
          ['stream', 'windows due', 'covered already'],
          result.streams.map((one) => [one.stream, one.windows, one.covered]),
        ),
        '',
        `${many(result.profiles, 'profile')}, ${many(result.windows, 'window')}: as many requests, at least ${duration(result.seconds * SECOND)} at ${number(requestsOf(result))} a second`,
        `${(share * 100).toFixed(1)} % is covered already and is not asked for again`,
        ...(result.itemsWaiting > 0 ? [`${many(result.itemsWaiting, 'item')} to be pushed first`] : []),
      ].join('\n'),
    )
  }
  return 0
}

const requestsOf = ({ requestsPerSecond }: { requestsPerSecond: number }) => requestsPerSecond

async function countWindows(pool: Pool, options: PlanOptions): Promise<{ profiles: number; tallies: Tally[] }> {
  const wanted = streams.filter(({ name }) => options.streams.length === 0 || options.streams.includes(name))
  const tallies = new Map(wanted.map(({ name }) => [name as string, { stream: name, windows: 0, covered: 0 }]))
  const named = await idsOfNamed(pool, options.profiles)
  const ledger = openLedger({ pool, streams: wanted })
  const profiles = openProfiles({ pool, streams: wanted })
  const nowMs = Date.now()
  const to = Math.min(options.to?.getTime() ?? Math.ceil(nowMs / DAY) * DAY, nowMs)
  const range = options.from ? { from: options.from.getTime(), to } : undefined
  let count = 0
  for (let afterId = '0'; ; ) {
    options.signal.throwIfAborted()
    const page = await profiles.page(afterId, PAGE, named)
    await Promise.all(
      page.ids.map(async (profileId) => {
        const [due, all] = await Promise.all([
          ledger.plan({ profileId, nowMs, range, again: options.again }),
          ledger.plan({ profileId, nowMs, range, again: true }),
        ])
        addTo(tallies, due?.due ?? [], (tally) => {
          tally.windows += 1
          tally.covered -= 1
        })
        addTo(tallies, all?.due ?? [], (tally) => {
          tally.covered += 1
        })
      }),
    )
    count += page.ids.length
    afterId = page.lastId
    if (page.ids.length < PAGE) break
  }
  const each = [...tallies.values()].map((tally) => ({ ...tally, covered: Math.max(0, tally.covered) }))
  return { profiles: count, tallies: each }
}

function addTo(tallies: Map<string, Tally>, due: ReadonlyArray<{ stream: { name: string } }>, add: (t: Tally) => void) {
  for (const { stream } of due) {
    const tally = tallies.get(stream.name)
    if (tally) add(tally)
  }
}
