import { expect } from 'vitest'
import type { OutboxItem } from '../../../../src/pipeline/transfer/parcel.ts'
import { openRehearsal } from '../../../../src/pipeline/warehouse/outbox/rehearsal.ts'
import { march, marchMs, test, type Warehouse } from '../../../support/test-warehouse.ts'

const log = (profileId: string, key: string, day: number, more: object): OutboxItem => ({
  profileId,
  stream: 'data-logs',
  itemKey: key,
  body: JSON.stringify({ id: key, startDateTime: march(day), ...more }),
  startAtMs: marchMs(day),
  endAtMs: marchMs(day),
})

/** Gives its connection back also when the test fails, which else would wait for it for ever. */
async function openClosing(pool: Warehouse['pool'], onlyMissing: boolean) {
  const rehearsal = await openRehearsal({ pool, onlyMissing })
  return { ...rehearsal, [Symbol.asyncDispose]: rehearsal.close }
}

test('a rehearsal compares an item with the form of its person, stream and key alone, stored or rehearsed before', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const formsOf = (key: string) => [
    log(ada, key, 2, { value: 1 }),
    log(bob, key, 2, { value: 2 }),
    log(ada, `${key} too`, 2, { value: 3 }),
    { ...log(ada, key, 2, { value: 4 }), stream: 'demographics' },
  ]
  await warehouse.outbox.add(formsOf('stored'))
  const [none, all] = [
    { accepted: 0, duplicate: 4 },
    { accepted: 4, duplicate: 0 },
  ]

  for (const onlyMissing of [false, true]) {
    await using rehearsal = await openClosing(warehouse.pool, onlyMissing)
    expect(await rehearsal.add(formsOf('stored'))).toEqual(none)
    expect(await rehearsal.add(formsOf('new'))).toEqual(all)
    expect(await rehearsal.add(formsOf('new'))).toEqual(none)
    const [changed = log(ada, '', 2, {})] = formsOf('new').map((item) => ({ ...item, body: '{}' }))
    expect(await rehearsal.add([changed])).toEqual({ accepted: onlyMissing ? 0 : 1, duplicate: onlyMissing ? 1 : 0 })
    expect(await rehearsal.add([changed])).toEqual({ accepted: 0, duplicate: 1 })
  }
})
