import { describe, expect, test } from 'vitest'
import { verifyProfile } from '../../jobs/verify-profile.ts'
import { Halted, NotThere, Rejected, RetryLater, Unanswered } from '../../src/base/errors.ts'
import type { JobContext } from '../../src/pipeline/work/job.ts'
import { adaPlanned, contextWith, dueDays } from '../support/job-context.ts'

type Verified = Awaited<ReturnType<JobContext['verification']['verify']>>

const verified = (more: Partial<Verified> = {}): Verified => ({
  outcome: 'same',
  requests: 1,
  records: 5,
  unreadable: 0,
  counts: { missingHere: 0, differing: 0, missingUpstream: 0 },
  causes: { 'lost-here': 0, 'changed-upstream': 0, 'late-upstream': 0 },
  mended: false,
  written: 0,
  ...more,
})

const payload = { profileId: '7', seed: 's', upTo: '9' }

/** Verifies three drawn windows; the second fails or ends as given. */
async function run(
  second: Error | Partial<Verified>,
  given: Partial<JobContext> = {},
  meanwhile: () => void = () => undefined,
) {
  const seen = { draws: [] as unknown[], options: [] as unknown[], counted: [] as unknown[], verifications: 0 }
  const context = contextWith({
    ...given,
    verification: {
      async listDrawn(...draw) {
        seen.draws.push(draw)
        return dueDays(3).map((due) => ({ ...due, ...adaPlanned }))
      },
      async verify(_, options) {
        seen.verifications += 1
        seen.options.push(options)
        if (seen.verifications !== 2) return verified()
        meanwhile()
        if (second instanceof Error) throw second
        return verified(second)
      },
      count: async (stream, { outcome }) => void seen.counted.push(`${stream} ${outcome}`),
    },
  })
  const ended = await verifyProfile.run(payload, context).catch((error: unknown) => error)
  return { ended, signal: context.signal, ...seen }
}

test('the drawn windows are read with lane and signal, to be mended, and their figures add up', async () => {
  const { ended, draws, options, counted, signal } = await run({ outcome: 'differs', requests: 3, written: 2 })

  expect(draws).toEqual([['7', { seed: 's', upTo: '9' }]])
  expect(options).toEqual(Array(3).fill({ mend: true, options: { lane: 'manual', signal } }))
  expect(counted).toEqual(['scores same', 'scores differs', 'scores same'])
  expect(ended).toEqual({ requests: 5, unchanged: 0, rowsRead: 15, rowsWritten: 2, itemsPushed: 0, refused: 0 })
})

test('a window that is covered no more counts neither as sound nor as different', async () => {
  const { ended, counted } = await run({ outcome: 'uncovered', requests: 2 })

  expect(counted).toEqual(['scores same', 'scores same'])
  expect(ended).toMatchObject({ requests: 4 })
})

describe('a window that upstream will not give', () => {
  const busy = new RetryLater('busy', { waitMs: 1 })
  const lost = new Unanswered('lost')
  const stopped = new Error('stopped')
  const cases: Array<[string, Error, Partial<JobContext>, 'left out' | 'thrown']> = [
    ['refused', new Rejected('no', { status: 400 }), {}, 'left out'],
    ['not there', new NotThere('no'), {}, 'left out'],
    ['unanswered', lost, {}, 'thrown'],
    ['unanswered at the last attempt', lost, { lastAttempt: true }, 'left out'],
    ['busy', busy, {}, 'thrown'],
    ['busy at the last attempt', busy, { lastAttempt: true }, 'thrown'],
    ['busy when waits are used up', busy, { waitsExhausted: true }, 'left out'],
    ['a halt', new Halted('halted'), { lastAttempt: true, waitsExhausted: true }, 'thrown'],
    ['a bug', new TypeError('a bug'), { lastAttempt: true, waitsExhausted: true }, 'thrown'],
  ]
  test.for(cases)(
    '%s: it is left out and the others are read, or the job fails',
    async ([, error, given, expected]) => {
      const { ended, counted, verifications } = await run(error, given)

      if (expected === 'thrown') {
        expect(ended).toBe(error)
        expect(verifications).toBe(2)
        return
      }
      expect(ended).toMatchObject({ requests: 3, rowsRead: 10 })
      expect(counted).toHaveLength(2)
    },
  )

  test('because the job stops is not left out, and no further window is begun', async () => {
    const stopping = new AbortController()
    const refused = new Rejected('no', { status: 400 })
    const { ended, verifications } = await run(refused, { signal: stopping.signal }, () => stopping.abort(stopped))
    expect(ended).toBe(refused)
    expect(verifications).toBe(2)

    const sound = await run({}, { signal: AbortSignal.abort(stopped) })
    expect(sound.ended).toBe(stopped)
    expect(sound.verifications).toBe(0)
  })
})
