import { expect } from 'vitest'
import { eraseAndProve } from '../../src/operations/erase-and-prove.ts'
import type { Peer } from '../support/peer.ts'
import { json, type Reply, type Seen } from '../support/profile-stub.ts'
import { type TestPipeline, test } from '../support/test-pipeline.ts'

const name = 'ada-4711@example.org'

type Prove = { signal?: AbortSignal; say?: (line: string) => void }

const prove = (
  { pipeline }: TestPipeline,
  { signal = AbortSignal.timeout(60_000), say = () => undefined }: Prove = {},
) => eraseAndProve({ pipeline, signal }, name, { say })

test('the proof names what was removed: rows by table, and the jobs that waited', async ({ open }) => {
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles(name, 'bob')
  await line.tick('sync', { profileIds: [ada] })

  const proof = await prove(line)

  expect(proof).toMatchObject({ queueJobs: 1, upstream: 'gone', tombstone: true, left: [], complete: true })
  const removed = proof.removed.filter(({ rows }) => rows > 0)
  expect(removed).toEqual(
    expect.arrayContaining([
      { table: 'orders', rows: 1 },
      { table: 'profiles', rows: 1 },
      { table: 'names', rows: 1 },
    ]),
  )
  await expect(prove(line)).rejects.toMatchObject({ hint: expect.stringContaining('vitalsync profiles list') })
})

/** Answers some requests in place of the peer. */
function answering(peer: Peer, answerOf: (seen: Seen) => Reply | undefined): void {
  const { answer } = peer
  peer.answer = (seen) => answerOf(seen) ?? answer(seen)
}

const isQuestion = ({ path }: Seen) => path.endsWith(`/account/profile/${encodeURIComponent(name)}`)

test('the proof is not complete while upstream has the profile, though nothing is left here', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  await line.addProfiles(name)
  answering(peer, (seen) => (isQuestion(seen) ? json(200, { externalId: name }) : undefined))

  expect(await prove(line)).toMatchObject({ upstream: 'still there', tombstone: true, left: [], complete: false })
})

test('an answer of upstream that says nothing of the profile is no proof', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles(name)
  answering(peer, (seen) => (isQuestion(seen) ? json(403, { title: 'Forbidden' }) : undefined))

  await expect(prove(line)).rejects.toMatchObject({ status: 403 })
})

test('the proof is not complete while a row is left here, and names its table', async ({ open }) => {
  const line = await open('postgres')
  await line.addProfiles(name)
  // A table of a later version, which keeps its rows.
  await line.rows('create table vitalsync.later (profile_id bigint)')
  await line.rows('create rule later_stays as on delete to vitalsync.later do instead nothing')
  await line.rows('insert into vitalsync.later select id from vitalsync.names')

  const left = [{ table: 'later', rows: 1 }]
  expect(await prove(line)).toMatchObject({ upstream: 'gone', tombstone: true, left, complete: false })
})

test('an erasure waits, and says so, until a registration under way has ended', async ({ open }) => {
  const line = await open('postgres')
  await line.addProfiles(name)
  await line.rows(`update vitalsync.profiles set registering_until = now() + interval '2 s'`)
  const said: string[] = []

  const proof = await prove(line, { say: (remark) => void said.push(remark) })

  expect(said[0]).toMatch(/^erase profile: a registration of this profile is under way: going on in /)
  expect(proof.complete).toBe(true)
})

test('an erasure that is stopped waits no longer, and has erased nothing', async ({ open }) => {
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles(name)
  await line.rows(`update vitalsync.profiles set registering_until = now() + interval '1 hour'`)
  const stop = new AbortController()

  await expect(prove(line, { signal: stop.signal, say: () => stop.abort() })).rejects.toThrow('aborted')

  expect(await line.pipeline.profiles.findId(name)).toEqual({ profileId: ada })
})
