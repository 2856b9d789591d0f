import { expect, test } from 'vitest'
import { adviceFor, replayedText, retriedText } from '../../../src/pipeline/ledger/retry.ts'

const waits = 'It is tried again automatically; vitalsync failures retry does not wait for that time.'
const refused = `Upstream refuses the window: correct the cause there. ${waits}`
const unusable = `Upstream gave no usable answer. ${waits}`

test.each<[kind: 'job' | 'window', status: number | null, advice: string]>([
  ['job', null, `Correct the cause that the reason names. ${waits}`],
  ['job', 404, `Correct the cause that the reason names. ${waits}`],
  ['window', null, unusable],
  ['window', 299, unusable],
  ['window', 300, expect.stringMatching(/^Upstream redirects this window; .*UPSTREAM_URL/)],
  ['window', 399, expect.stringMatching(/^Upstream redirects this window; .*UPSTREAM_URL/)],
  ['window', 400, expect.stringMatching(/^Upstream rejects the request itself: .* discard the failure\.$/)],
  ['window', 401, refused],
  ['window', 404, expect.stringMatching(/^Upstream does not know this profile .* vitalsync profiles show\.$/)],
  ['window', 422, expect.stringMatching(/^Upstream rejects the request itself: .* discard the failure\.$/)],
  ['window', 499, refused],
  ['window', 500, unusable],
])('the advice for a %s with status %s that is tried again', (kind, status, advice) => {
  expect(adviceFor({ kind, status, nextTryAt: 1 })).toEqual(advice)
})

test('a failure that is not tried again is repeated by a retry alone, whatever its status', () => {
  expect(adviceFor({ kind: 'window', status: 500, nextTryAt: null })).toBe(
    'It was discarded, and is asked for again only after a retry: vitalsync failures retry.',
  )
  expect(adviceFor({ kind: 'job', status: 404, nextTryAt: null })).toBe(
    'Correct the cause that the reason names, then: vitalsync failures retry.',
  )
})

test.each([
  [{ due: 0, enqueued: 0 }, ''],
  [{ due: 1, enqueued: 0 }, '1 due now, for the next sweep; at once: vitalsync sync.'],
  [{ due: 0, enqueued: 1 }, '1 enqueued again: they wait for a worker.'],
  [
    { due: 2, enqueued: 3 },
    '2 due now, for the next sweep; at once: vitalsync sync. 3 enqueued again: they wait for a worker.',
  ],
])('retried %j: %s', (retried, text) => {
  expect(retriedText(retried)).toBe(text)
})

const sweep = 'The next sweep does it; at once: vitalsync sync.'

test.each([
  [{ pushed: 0, stored: 0, reread: 0 }, ''],
  [{ pushed: 0, stored: 1, reread: 0 }, '1 fit now, and are stored.'],
  [{ pushed: 1, stored: 0, reread: 0 }, `1 to be pushed again. ${sweep}`],
  [{ pushed: 0, stored: 0, reread: 1 }, `1 to be read again. ${sweep}`],
  [
    { pushed: 2, stored: 3, reread: 2 },
    `3 fit now, and are stored. 2 to be pushed again. 2 to be read again. ${sweep}`,
  ],
])('replayed %j: %s', (replayed, text) => {
  expect(replayedText(replayed)).toBe(text)
})
