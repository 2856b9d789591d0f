import { describe, expect } from 'vitest'
import { type CallOptions, call, registerProfile, test } from './service-world.ts'

describe('by a header of the answer, whose status and body stay those of the interface', () => {
  const notes = async (world: Parameters<typeof call>[0], path: string, options: CallOptions) => {
    const answer = await call(world, path, options)
    return [answer.status, answer.headers.get('query-notes')]
  }

  test('of the profile and of its account, of lists, tags and a search', async ({ world }) => {
    const { auth, account, externalId } = await registerProfile(world)
    const score = '/api/v1/profile/score'

    expect(await notes(world, `${score}?types=sleep,activity`, { auth })).toEqual([204, null])
    expect(await notes(world, `${score}?types=slep`, { auth })).toEqual([
      204,
      'types knows no "slep", is "sleep" meant?',
    ])
    expect(await notes(world, `${score}/${externalId}?types[0]=Sleep&start=2026-07-11`, { auth: account })).toEqual([
      204,
      'types knows no "Sleep", is "sleep" meant?; there is no parameter "start", is "startDateTime" meant?',
    ])
    expect(await notes(world, '/api/v1/profile/biomarker?categories=vital', { auth })).toEqual([
      204,
      'categories knows no "vital", is "vitals" meant?',
    ])
    expect(await notes(world, '/api/v1/profile/insight/trend?name=nap_duration', { auth })).toEqual([
      204,
      'name knows no "nap_duration"',
    ])
    expect(await notes(world, '/api/v1/profile/archetypes?periodicity=weekly,daily', { auth })).toEqual([
      204,
      'periodicity knows no "daily"',
    ])
    expect(await notes(world, '/api/v1/profile/tag?types=events', { auth })).toEqual([
      204,
      'types knows no "events", is "event" meant?',
    ])
    expect(await notes(world, '/api/v1/account/profile/search?pagesize=5', { auth: account })).toEqual([
      200,
      'there is no parameter "pagesize", is "pageSize" meant?',
    ])
    expect(await notes(world, '/api/v1/profile/demographic?age=5', { auth })).toEqual([
      204,
      'there is no parameter "age"',
    ])
  })
  test('and the reference says so of every operation', async ({ world }) => {
    for (const methods of Object.values(world.document.paths))
      for (const { responses } of Object.values(methods))
        for (const [status, response] of Object.entries(responses))
          if (Number(status) < 400) expect(response).toHaveProperty('headers.query-notes.description')
  })
})
