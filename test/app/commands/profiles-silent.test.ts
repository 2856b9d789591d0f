import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Checked, checkedIn } from './checked-json.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

let world: CommandWorld
const timeout = 300_000
const checked: Checked = (name, ...words) => checkedIn(world, name, ...words)

/** Ada sent steps every day up to four days ago. */
beforeAll(async () => {
  world = await openCommandWorld({ profiles: 1, days: 3 })
  await world.run('profiles', 'add', '=ada', 'bob')
  await world.query(
    `insert into vitalsync.log_days (profile_id, local_date, kind, minutes, first_at, last_at, first_parcel, last_parcel, device, revised)
     select p.id, (now() - n * interval '1 day')::date, 'steps', b'1'::bit(1440), now() - n * interval '1 day', now() - n * interval '1 day', 1, 1, 'watch', false
     from vitalsync.profiles p, generate_series(4, 24) n where p.external_id = '=ada'`,
  )
}, timeout)
afterAll(() => world.close(), timeout)

test('who has gone silent is listed as a table, as CSV and as JSON', { timeout }, async () => {
  const table = await world.run('profiles', 'silent')
  const csv = await world.run('profiles', 'silent', '--csv')
  const none = await world.run('profiles', 'silent', '--since', '5d')
  const silent = await checked('profiles silent', '--since', '3d', '--unusual', '0.99')

  expect(table.stdout).toMatch(/=ada +all +all_stopped +4\.0 d +24 h +24 h +100\.0 % +.* watch steps/)
  expect(csv.stdout.split('\n')).toEqual([
    'external_id,kind,state,last_at,last_day,last_kinds,device,silent_hours,usual_hours,long_hours,unusual',
    expect.stringMatching(/^'=ada,all,all_stopped,.*,steps,watch,96,24,24,1$/),
    '',
  ])
  expect(none.stdout).toBe('Nobody has gone silent.\n')
  expect(silent).toMatchObject([{ externalId: '=ada', state: 'all_stopped', silentHours: 96, lastKinds: ['steps'] }])
})

test('groups say how many are silent of how many', { timeout }, async () => {
  expect(await checked('profiles silent', '--groups')).toMatchObject([
    { by: 'day', people: 1, silent: 1 },
    { by: 'device', name: 'watch', people: 1, silent: 1 },
  ])
})

test('a watch prints each change once, as it is noticed', { timeout }, async () => {
  await world.query(`delete from vitalsync.silence_events; update vitalsync.silence set state = null`)
  const watching = world.start(['profiles', 'silent', '--watch', '--json'])
  await watching.said(/\n/)
  watching.kill('SIGTERM')
  const { stdout, code } = await watching.ended

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ externalId: '=ada', kind: 'all', from: null, to: 'all_stopped' })
})

test('a span and a share are checked', { timeout }, async () => {
  const [span, share] = await Promise.all([
    world.run('profiles', 'silent', '--since', 'monday'),
    world.run('profiles', 'silent', '--unusual', '7'),
  ])
  expect(span.stderr).toMatch(/It must be a span such as 3d or 36h/)
  expect(share.stderr).toMatch(/It must be a share from 0 to 1/)
})
