import fc from 'fast-check'
import { expect } from 'vitest'
import { Rejected, RetryLater } from '../../../src/base/errors.ts'
import type { OutboxItem } from '../../../src/pipeline/transfer/parcel.ts'
import type { JobContext } from '../../../src/pipeline/work/job.ts'
import { pushWaiting } from '../../../src/pipeline/work/push.ts'
import { dataLogs } from '../../support/stream-by-name.ts'
import { marchMs, test, type Warehouse } from '../../support/test-warehouse.ts'

type Body = { id: string; value: number; bad: boolean; filler: string }
/** Whether upstream names the bad items, and after how many requests of a push it breaks down. */
type Manners = { names: boolean; breaksAfter: number | undefined }

/** Takes all of a request or nothing, and keeps of each log the form that came last. */
function createTaker() {
  const logs = new Map<string, Body>()
  let manners: Manners = { names: true, breaksAfter: undefined }
  let requests = 0
  const take = async (_: unknown, { items: batch }: { items: { joined: string; count: number } }) => {
    if (requests++ === manners.breaksAfter) throw new RetryLater('busy', { waitMs: 1 })
    const items: Body[] = JSON.parse(`[${batch.joined}]`)
    expect(items).toHaveLength(batch.count)
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length)
    const details = items.flatMap(({ bad }, index) => (bad ? [{ path: `[${index}].value`, reasons: ['no'] }] : []))
    if (details.length > 0) throw new Rejected('no', { status: 400, details: manners.names ? details : [] })
    for (const item of items) logs.set(item.id, item)
  }
  return {
    logs,
    behave(next: Manners) {
      manners = next
      requests = 0
    },
    upstream: { pushItems: take },
  }
}

const handIn = fc.record({
  act: fc.constant('hand in' as const),
  logs: fc.array(
    fc.record({
      id: fc.nat(150),
      day: fc.integer({ min: 1, max: 20 }),
      value: fc.nat(3),
      bad: fc.integer({ min: 0, max: 20 }).map((chance) => chance === 0),
      filler: fc.constantFrom('', 'é'.repeat(100), 'x'.repeat(4000)),
    }),
    { minLength: 1, maxLength: 120 },
  ),
})
const push = fc.record({
  act: fc.constant('push' as const),
  names: fc.boolean(),
  breaksAfter: fc.option(fc.nat(5), { nil: undefined }),
})

function itemOf(profileId: string, { day, ...body }: { id: number; day: number; value: number }): OutboxItem {
  const itemKey = `log-${body.id}`
  const text = JSON.stringify({ ...body, id: itemKey })
  return {
    profileId,
    stream: 'data-logs',
    itemKey,
    body: text,
    startAtMs: marchMs(day),
    endAtMs: marchMs(day) + body.value,
  }
}

async function pushOnce({ outbox }: Warehouse, profileId: string, upstream: object): Promise<void> {
  const profile = { profileId, externalId: 'ada', state: 'active', waiting: [dataLogs] } as const
  const context = { outbox, upstream, lane: 'manual', signal: AbortSignal.timeout(120_000) }
  await pushWaiting(profile, context as unknown as JobContext).catch((error: unknown) => {
    if (!(error instanceof RetryLater)) throw error
  })
}

test('whatever is handed in, corrected and refused, upstream ends with the last good form of each log', {
  timeout: 300_000,
}, async ({ warehouse }) => {
  let person = 0
  const lives = fc.array(fc.oneof(handIn, push), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(lives, async (acts) => {
      const [ada = ''] = await warehouse.addProfiles(`person-${person++}`)
      const taker = createTaker()
      const handedIn = new Map<string, string>()
      for (const act of acts) {
        taker.behave(act.act === 'push' ? act : { names: true, breaksAfter: undefined })
        if (act.act === 'push') {
          await pushOnce(warehouse, ada, taker.upstream)
          continue
        }
        const items = act.logs.map((given) => itemOf(ada, given))
        const before = new Map(handedIn)
        for (const { itemKey, body } of items) handedIn.set(itemKey, body)
        const changed = [...handedIn].filter(([key, body]) => before.get(key) !== body)
        const counts = await warehouse.outbox.add(items)
        expect(counts).toEqual({ accepted: changed.length, duplicate: items.length - changed.length })
      }
      taker.behave({ names: false, breaksAfter: undefined })
      await pushOnce(warehouse, ada, taker.upstream)

      const rows = async (text: string) => warehouse.rows(text, [ada])
      expect(await rows('select 1 from vitalsync.parcels where profile_id = $1')).toEqual([])
      const aside = await rows('select body from vitalsync.quarantine where profile_id = $1')
      const bodies = new Set(aside.map(({ body }) => body))
      for (const [key, text] of handedIn) {
        const last: Body = JSON.parse(text)
        if (last.bad) expect(bodies).toContain(text)
        else expect(taker.logs.get(key)).toEqual(last)
      }
      for (const text of bodies) expect(JSON.parse(String(text)).bad).toBe(true)
    }),
    { numRuns: 40 },
  )
})
