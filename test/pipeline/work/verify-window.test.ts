import { describe, expect, onTestFinished } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { Unanswered } from '../../../src/base/errors.ts'
import { MINUTE } from '../../../src/base/time/units.ts'
import type { UpstreamAnswer } from '../../../src/pipeline/transfer/reading.ts'
import type { CoveredWindow } from '../../../src/pipeline/warehouse/verification/covered-windows.ts'
import { createVerification, type VerifiedWindow } from '../../../src/pipeline/work/verify-window.ts'
import { readingOf } from '../../support/job-context.ts'
import { scores } from '../../support/stream-by-name.ts'
import { openTestMeter } from '../../support/test-meter.ts'
import {
  test as base,
  march,
  marchMs,
  scoreRecord,
  scoresReading,
  type Warehouse,
} from '../../support/test-warehouse.ts'

const window = { startMs: marchMs(1), endMs: marchMs(5) }
const covered = `{[${march(1)},${march(5)})}`
const stored = [
  scoreRecord({ scoreDateTime: march(2), value: 0.1 }),
  scoreRecord({ scoreDateTime: march(3), value: 0.2 }),
]
const records = (...some: object[]) => some.map((fields) => ({ raw: JSON.stringify(fields), fields: { ...fields } }))
const [first = {}, second = {}] = stored
const changed = { ...second, value: 0.9 }
const late = scoreRecord({ scoreDateTime: march(4), value: 0.4 })

type Read = Partial<UpstreamAnswer> | ((warehouse: Warehouse, ada: string) => Promise<Partial<UpstreamAnswer>>)
type Story = {
  /** Upstream's answers to the reads of the window, in turn; the last one again and again. */
  reads: readonly Read[]
  mend?: boolean
  /** Happens when the reading that mends is stored. */
  onStored?: () => Promise<unknown>
  /** Nothing can be stored any more. */
  storeFails?: boolean
  /** The tag that the ledger holds of the window, and upstream's answer to a read by it. */
  tag?: { held: string; answer: Read }
}

type Told = VerifiedWindow & { asked: Array<string | undefined>; covered: string; findings: object[]; due: boolean }

const test = base.extend<{ verify: (story: Story) => Promise<Told> }>({
  /** Stores two scores of a covered window, then verifies it. */
  verify: async ({ warehouse }, use) => {
    const [ada = ''] = await warehouse.addProfiles('ada')
    const { rows } = warehouse
    await use(async ({ reads, mend = true, tag, onStored, storeFails = false }) => {
      const reading = { profileId: ada, window, records: stored, sentAtMs: warehouse.startedAtMs - MINUTE }
      await warehouse.writer.store(scoresReading({ ...reading, tag: tag?.held }))
      await rows(`update vitalsync.ledger set covered = $2 where profile_id = $1 and stream = 'scores'`, [ada, covered])
      await rows(`update vitalsync.profiles set due_at = 'infinity' where id = $1`, [ada])
      const asked: Array<string | undefined> = []
      const verification = createVerification({
        pool: warehouse.pool,
        streams: pulledStreams,
        writer: {
          async store(reading) {
            if (storeFails) throw new Error('away')
            const stored = await warehouse.writer.store(reading)
            await onStored?.()
            return stored
          },
        },
        upstream: {
          async read(_, { heldTag }) {
            asked.push(heldTag)
            const whole = asked.filter((tag) => tag === undefined).length
            const next = (heldTag === undefined ? reads[Math.min(whole, reads.length) - 1] : tag?.answer) ?? {}
            const answer = typeof next === 'function' ? await next(warehouse, ada) : next
            if (heldTag !== undefined) return readingOf({ tag: heldTag, unchanged: true, ...answer })
            return readingOf({ sentAtMs: Date.now(), serverAtMs: undefined, ...answer })
          },
        },
      })
      const drawn: CoveredWindow = { profileId: ada, externalId: 'ada', stream: scores, window, generation: 0 }
      const verified = await verification.verify(drawn, { mend, options: { lane: 'manual' } })
      const [profile] = await rows('select due_at <= now() as due from vitalsync.profiles where id = $1', [ada])
      return {
        ...verified,
        asked,
        covered: (await warehouse.covered(ada, 'scores')) === '{}' ? 'nothing' : 'the window',
        findings: await rows('select cause, mended_at is not null as mended from vitalsync.differences'),
        due: profile?.['due'] === true,
      }
    })
  },
})

const same = { records: records(...stored) }
const differs = { records: records(first, changed) }
const pending = { word: 'pending' as const }

test('a window that is as it was takes one request, and leaves everything as it is', async ({ verify }) => {
  expect(await verify({ reads: [same] })).toMatchObject({
    outcome: 'same',
    requests: 1,
    records: 2,
    covered: 'the window',
    findings: [],
    due: false,
  })
})

test('a difference is believed when a second reading shows it too', async ({ verify }) => {
  const verified = await verify({ reads: [differs, same], tag: { held: '"a"', answer: {} } })

  expect(verified).toMatchObject({ outcome: 'same', requests: 2, covered: 'the window', findings: [] })
  expect(verified.asked).toEqual([undefined, undefined])
})

const storeIt = async ({ writer, rows }: Warehouse, profileId: string) => {
  await writer.store(scoresReading({ profileId, window, records: [first, changed], sentAtMs: Date.now() }))
  await rows(`update vitalsync.ledger set covered = $2 where profile_id = $1`, [profileId, covered])
  return differs
}

test('a record that is stored during the comparison is no difference', async ({ verify }) => {
  expect(await verify({ reads: [differs, storeIt] })).toMatchObject({ outcome: 'same', findings: [] })
})

test('a record that is stored while upstream is asked by its tag is no difference', async ({ verify }) => {
  const verified = await verify({ reads: [differs], tag: { held: '"a"', answer: storeIt } })

  expect(verified).toMatchObject({ outcome: 'same', requests: 3, findings: [] })
})

describe('a window that upstream is deriving', () => {
  for (const [name, reads, requests] of [
    ['at the first reading', [{ ...differs, ...pending }], 1],
    ['though it is as it was', [{ ...same, ...pending }], 1],
    ['at the second', [differs, { ...differs, ...pending }], 2],
  ] as const) {
    for (const mend of [true, false]) {
      test(`${name} is due again${mend ? '' : ', unless nothing may be mended'}, and no difference`, async ({
        verify,
      }) => {
        expect(await verify({ reads, mend })).toMatchObject({
          outcome: 'uncovered',
          requests,
          covered: mend ? 'nothing' : 'the window',
          findings: [],
          due: mend,
        })
      })
    }
  }
})

test('a window that is no longer covered, or has a waiting push, promises nothing', async ({ verify }) => {
  const uncover = async ({ rows }: Warehouse, ada: string) => {
    await rows(`update vitalsync.ledger set covered = '{}' where profile_id = $1`, [ada])
    return differs
  }
  expect(await verify({ reads: [differs, uncover] })).toMatchObject({
    outcome: 'uncovered',
    requests: 2,
    causes: { 'lost-here': 0, 'changed-upstream': 1 },
    findings: [],
  })

  const push = async ({ outbox }: Warehouse, profileId: string) => {
    const item = {
      profileId,
      stream: 'data-logs',
      itemKey: 'x',
      body: '{}',
      startAtMs: marchMs(9),
      endAtMs: marchMs(9),
    }
    await outbox.add([item])
    return differs
  }
  expect(await verify({ reads: [differs, push] })).toMatchObject({ outcome: 'uncovered', findings: [] })
})

describe('a difference', () => {
  test('without leave to mend is reported, and nothing is written', async ({ verify }) => {
    expect(await verify({ reads: [differs], mend: false })).toMatchObject({
      outcome: 'differs',
      requests: 2,
      counts: { missingHere: 0, differing: 1, missingUpstream: 0 },
      causes: { 'lost-here': 0, 'changed-upstream': 1, 'late-upstream': 0 },
      mended: false,
      written: 0,
      covered: 'the window',
      findings: [],
      due: false,
    })
  })

  test('is stored, recorded with its cause, and marked mended', async ({ verify, warehouse }) => {
    expect(await verify({ reads: [{ records: records(first, changed, late) }] })).toMatchObject({
      outcome: 'differs',
      counts: { missingHere: 1, differing: 1, missingUpstream: 0 },
      mended: true,
      written: 2,
      findings: [{ cause: 'changed-upstream', mended: true }],
      due: true,
    })
    expect(await warehouse.rows('select value from vitalsync.scores where gone_at is null order by 1')).toEqual(
      [0.1, 0.4, 0.9].map((value) => ({ value })),
    )
    // The commit must still find the window covered: only then it counts the change as one that upstream did not announce.
    expect(await warehouse.rows('select records from vitalsync.silent_differences')).toEqual([{ records: 2 }])
  })

  test('that is there again after mending leaves the window due, and what was written counts', async ({
    verify,
    warehouse,
  }) => {
    const onStored = () => warehouse.rows('update vitalsync.scores set gone_at = now() where value = 0.4')

    expect(await verify({ reads: [{ records: records(first, second, late) }], onStored })).toMatchObject({
      mended: false,
      written: 1,
      covered: 'nothing',
      due: true,
    })
  })

  test('that mending does not remove leaves the window due again, and is not marked mended', async ({ verify }) => {
    // A reading that is older than what is stored writes nothing.
    const old = { ...differs, sentAtMs: marchMs(1) }

    expect(await verify({ reads: [old] })).toMatchObject({
      outcome: 'differs',
      mended: false,
      written: 0,
      covered: 'nothing',
      findings: [{ cause: 'changed-upstream', mended: false }],
      due: true,
    })
  })
})

test('a record that cannot be read any more differs until it is in the quarantine, and is counted then too', async ({
  verify,
}) => {
  const invalid = [{ path: 'scoreDateTime', reason: 'no instant', raw: '{"scoreDateTime":"soon"}' }]
  const damaged = { records: records(first), invalid }
  const counted = { records: 1, unreadable: 1 }

  expect(await verify({ reads: [damaged], mend: false })).toMatchObject({
    ...counted,
    outcome: 'differs',
    counts: { missingHere: 0, differing: 1, missingUpstream: 0 }, // it may be the stored record that the answer lacks
    causes: { 'lost-here': 0, 'changed-upstream': 1, 'late-upstream': 0 },
  })
  expect(await verify({ reads: [damaged] })).toMatchObject({ ...counted, outcome: 'differs', mended: true })
  expect(await verify({ reads: [damaged] })).toMatchObject({ ...counted, outcome: 'same', requests: 1 })
})

describe('the tag of the last reading', () => {
  const held = '"t"'
  const lost = { ...same, records: records(first, second, late) }

  test('that upstream still gives proves that a missing record was lost here: its window is un-covered before it is stored', async ({
    verify,
    warehouse,
  }) => {
    const verified = await verify({ reads: [lost], tag: { held, answer: {} } })

    expect(verified).toMatchObject({
      requests: 3,
      causes: { 'lost-here': 1, 'changed-upstream': 0, 'late-upstream': 0 },
      mended: true,
      covered: 'the window',
      findings: [{ cause: 'lost-here', mended: true }],
    })
    expect(verified.asked).toEqual([undefined, undefined, held])
    expect(await warehouse.rows('select from vitalsync.false_tags')).toEqual([])
  })

  test('that proves a loss un-covers the window before it is stored: a death in between leaves it due', async ({
    verify,
    warehouse,
  }) => {
    await expect(verify({ reads: [lost], tag: { held, answer: {} }, storeFails: true })).rejects.toThrow('away')
    const [{ covered: left } = {}] = await warehouse.rows(
      `select covered::text from vitalsync.ledger where stream = 'scores'`,
    )

    expect(left).toBe('{}')
  })

  test.for<[string, Partial<UpstreamAnswer>]>([
    ['changed', { unchanged: false, tag: '"u"' }],
    ['unchanged, of another tag', { unchanged: true, tag: '"u"' }],
    ['whole, with the same tag', { unchanged: false, tag: held }],
  ])('to which upstream answers %s proves nothing', async ([, answer], { verify }) => {
    expect(await verify({ reads: [lost], tag: { held, answer } })).toMatchObject({
      requests: 3,
      causes: { 'lost-here': 0, 'late-upstream': 1 },
    })
  })

  for (const mend of [true, false]) {
    const distrusted = mend ? [{ stream: 'scores' }] : []
    test(`is false where what is stored, undamaged, differs: it proves nothing${mend ? ', and is believed no more' : ''}`, async ({
      verify,
      warehouse,
    }) => {
      const reads = [{ records: records(first, changed, late) }]
      const verified = await verify({ reads, tag: { held, answer: {} }, mend })

      expect(verified).toMatchObject({
        requests: 3,
        causes: { 'lost-here': 0, 'changed-upstream': 1, 'late-upstream': 1 },
      })
      expect(await warehouse.rows('select stream from vitalsync.false_tags')).toEqual(distrusted)
    })
  }
})

test('a window without tags has no proof', async ({ verify }) => {
  const lost = { records: records(first, second, late) }

  expect(await verify({ reads: [lost] })).toMatchObject({ requests: 2, causes: { 'lost-here': 0, 'late-upstream': 1 } })
})

test('a reading that fails fails the verification, and changes nothing', async ({ verify, warehouse }) => {
  const fail = () => Promise.reject(new Unanswered('lost'))

  await expect(verify({ reads: [differs, fail] })).rejects.toThrow('lost')
  expect(await warehouse.rows('select 1 from vitalsync.differences')).toEqual([])
})

test('a drawn window is counted in the warehouse and by metrics, and the records by cause', async ({ warehouse }) => {
  const { pool, rows, writer } = warehouse
  const { points, close } = openTestMeter()
  onTestFinished(close)
  const upstream = { read: () => Promise.reject(new Error('not asked')) }
  const verification = createVerification({ pool, streams: pulledStreams, writer, upstream })
  const none = { 'lost-here': 0, 'changed-upstream': 0, 'late-upstream': 0 }

  await verification.count('scores', { outcome: 'same', causes: none })
  await verification.count('scores', { outcome: 'uncovered', causes: none })
  await verification.count('scores', { outcome: 'differs', causes: { ...none, 'lost-here': 2, 'late-upstream': 1 } })

  expect(
    await rows('select sum(windows)::int as windows, sum(differing)::int as differing from vitalsync.verified_windows'),
  ).toEqual([{ windows: 3, differing: 1 }])
  const stream = 'scores'
  expect(await points('vitalsync.verified.windows')).toEqual([
    [{ stream, outcome: 'same' }, 1],
    [{ stream, outcome: 'uncovered' }, 1],
    [{ stream, outcome: 'differs' }, 1],
  ])
  expect(await points('vitalsync.verified.differing_records')).toEqual([
    [{ stream, cause: 'lost-here' }, 2],
    [{ stream, cause: 'late-upstream' }, 1],
  ])
})
