import { describe, expect, test } from 'vitest'
import { NotThere, Rejected, RetryLater, Unanswered } from '../../../src/base/errors.ts'
import { DAY } from '../../../src/base/time/units.ts'
import type { Token } from '../../../src/pipeline/fleet/tokens.ts'
import type { UpstreamApi } from '../../../src/pipeline/upstream/api.ts'
import { obtainToken } from '../../../src/pipeline/upstream/tokens/obtain-token.ts'

const account = { account: 'a' }
const profile = { account: 'a', profileId: '7' }
const previous: Token = { generation: 3, secret: 'old', refreshSecret: 'r3', issuedAtMs: 0, expiresAtMs: 1 }
const { signal } = new AbortController()

type Answers = { [name in 'accountToken' | 'profileToken' | 'refreshToken']?: () => object }

/** The three token operations; each takes ten seconds by the clock. */
function open(answers: Answers) {
  let nowMs = 1000
  const calls: unknown[][] = []
  const operation =
    (name: keyof Answers) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given])
      nowMs += 10_000
      return answers[name]?.()
    }
  const api = {
    accountToken: operation('accountToken'),
    profileToken: operation('profileToken'),
    refreshToken: operation('refreshToken'),
  } as unknown as UpstreamApi // the other operations are not for tokens
  const obtain = (request: Partial<Parameters<typeof obtainToken>[1]>) =>
    obtainToken(
      { api, clock: () => nowMs },
      { name: profile, previous: undefined, externalId: 'ada', signal, ...request },
    )
  return { calls, obtain }
}

const fails = (error: Error) => () => {
  throw error
}
const given = (expiresIn?: number) => () => ({ accountToken: 's', profileToken: 's', refreshToken: 'r', expiresIn })

describe('the life of a token', () => {
  test.for<[number | undefined, number]>([
    [60, 61_000],
    [1, 2000],
    [undefined, 1000 + DAY],
  ])('that lasts %i s counts from before its request', async ([expiresIn, expiresAtMs]) => {
    const { obtain } = open({ accountToken: given(expiresIn), profileToken: given(expiresIn) })

    expect(await obtain({ name: account })).toMatchObject({ secret: 's', issuedAtMs: 1000, expiresAtMs })
    expect(await open({ profileToken: given(expiresIn) }).obtain({})).toMatchObject({ issuedAtMs: 1000, expiresAtMs })
  })

  test('that a second request brought counts from before the second', async () => {
    const { obtain, calls } = open({ refreshToken: fails(new Unanswered('lost')), profileToken: given(60) })

    expect(await obtain({ previous })).toMatchObject({ issuedAtMs: 11_000, expiresAtMs: 71_000 })
    expect(calls.map(([name]) => name)).toEqual(['refreshToken', 'profileToken'])
  })
})

const refusal = {
  name: 'Halted',
  message: "upstream refuses the account's credentials: no",
  hint: 'Correct UPSTREAM_CLIENT_ID and UPSTREAM_CLIENT_SECRET; see that they belong to this environment.',
}

test.for<[string, Error, object]>([
  ['refused', new Rejected('no', { status: 401 }), refusal],
  ['not there', new NotThere('no'), refusal],
  ['busy', new RetryLater('busy', { waitMs: 1 }), { name: 'RetryLater' }],
  ['unanswered', new Unanswered('lost'), { name: 'Unanswered' }],
])('credentials of the account that are %s', async ([, error, expected]) => {
  expect(
    await open({ accountToken: fails(error) })
      .obtain({ name: account })
      .catch((it: unknown) => it),
  ).toMatchObject(expected)
})

describe('a profile’s token', () => {
  test('is refreshed where it may be, with the token that it replaces', async () => {
    const { obtain, calls } = open({ refreshToken: given(60) })

    expect(await obtain({ previous })).toMatchObject({ secret: 's', refreshSecret: 'r' })
    expect(calls).toEqual([['refreshToken', { profileToken: 'old', refreshToken: 'r3' }, { lane: 'nightly', signal }]])
  })

  test.for([new Rejected('no', { status: 401 }), new Unanswered('lost'), new RetryLater('busy', { waitMs: 1 })])(
    'whose refresh ends with %s is asked for by the account',
    async (error) => {
      const { obtain, calls } = open({ refreshToken: fails(error), profileToken: given(60) })
      await obtain({ previous })

      expect(calls[1]).toEqual(['profileToken', { externalId: 'ada' }, { lane: 'nightly', signal }])
    },
  )

  test('without a refresh token is asked for by the account, and nothing is refreshed', async () => {
    for (const before of [undefined, { ...previous, refreshSecret: undefined }]) {
      const { obtain, calls } = open({ profileToken: given(60) })
      await obtain({ previous: before })
      expect(calls.map(([name]) => name)).toEqual(['profileToken'])
    }
  })

  test('without the name of its person cannot be requested', async () => {
    await expect(open({}).obtain({ externalId: undefined })).rejects.toThrow('the name of the profile is not known')
  })

  test('that upstream refuses fails its own caller and does not halt the account', async () => {
    const refusal = new Rejected('no', { status: 403 })
    await expect(open({ profileToken: fails(refusal) }).obtain({})).rejects.toBe(refusal)
  })
})
