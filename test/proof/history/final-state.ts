import pg from 'pg'
import type { PulledStream } from '../../../src/pipeline/transfer/stream.ts'
import { type App, type People, versionOf } from './app.ts'
import type { FinalProfile, FinalRun, FinalState } from './history.ts'
import { comparedStreams, heldRecord, snapshotStreams } from './records.ts'
import { settledUntilMs } from './rest.ts'
import type { SandboxControl } from './sandbox-control.ts'
import { readRowsOf, readStored, readWitnessed } from './witness.ts'

type StageAtRest = {
  readonly app: App
  readonly people: People
  readonly control: SandboxControl
  readonly databaseUrl: string
  readonly serviceDatabaseUrl: string
}

/** Reads the warehouse and the service, each by connections of the harness. */
export async function readFinalState({
  app,
  people,
  control,
  databaseUrl,
  serviceDatabaseUrl,
}: StageAtRest): Promise<FinalState> {
  const warehouse = await connect(databaseUrl)
  const service = await connect(serviceDatabaseUrl)
  try {
    const profiles: FinalProfile[] = []
    const { rows: names } = await warehouse.query<{ profile: string; profileId: string }>(
      'select external_id as profile, id::text as "profileId" from vitalsync.names order by id',
    )
    const wanted = [app.historyFromMs, settledUntilMs()] as const
    for (const name of names) profiles.push({ ...name, wanted, ...(await readStreams(warehouse, control, name)) })
    const gone = [...people.erasing].map(([profile, { profileId }]) => ({ profile, profileId }))
    const rowsOfErased = await Promise.all(gone.map((one) => readRowsOf(warehouse, one)))
    return {
      profiles,
      ...(await readUpstream(service)),
      rowsOfErased: rowsOfErased.flat(),
      runs: await readRuns(warehouse),
      ...(await readStuck(warehouse)),
      witnessed: await readWitnessed(warehouse),
    }
  } finally {
    await warehouse.end()
    await service.end()
  }
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => undefined) // the query under way fails with the error
  await client.connect()
  return client
}

async function readStreams(
  warehouse: pg.Client,
  control: SandboxControl,
  { profile, profileId }: { profile: string; profileId: string },
): Promise<Pick<FinalProfile, 'streams' | 'snapshots'>> {
  const servedOf = async (stream: PulledStream | undefined) =>
    stream ? (await control.served(profile, stream.operation)).map((record) => heldRecord(stream, record)) : []
  const stored = await readStored(warehouse, profileId)
  const streams: FinalProfile['streams'][number][] = []
  for (const found of stored) {
    const served = await servedOf(comparedStreams.find(({ name }) => name === found.stream))
    streams.push({ ...found, served })
  }
  const snapshots: FinalProfile['snapshots'][number][] = []
  for (const stream of snapshotStreams) {
    const { rows } = await warehouse.query<{ body: string }>(
      `select body from vitalsync.${stream.table} where profile_id = $1 and gone_at is null`,
      [profileId],
    )
    const records = rows.map(({ body }) => heldRecord(stream, JSON.parse(body)))
    snapshots.push({ stream: stream.name, records, served: await servedOf(stream) })
  }
  return { streams, snapshots }
}

async function readUpstream(service: pg.Client): Promise<Pick<FinalState, 'upstreamItems' | 'upstreamProfiles'>> {
  const { rows: logs } = await service.query<{ profile: string; id: string; value: number; source: string }>(
    `select p.external_id as profile, l.id::text, l.value, l.source
     from service.logs l join service.profiles p using (profile_id)`,
  )
  const { rows: profiles } = await service.query<{ external_id: string }>('select external_id from service.profiles')
  return {
    upstreamItems: logs.flatMap(({ profile, ...log }) => {
      const held = versionOf(log)
      return held ? [{ profile, ...held }] : []
    }),
    upstreamProfiles: profiles.map(({ external_id }) => external_id),
  }
}

/** The slot of a sentinel is that of its nightly, written without its milliseconds: two nightlies of a command share one. */
async function readRuns(warehouse: pg.Client): Promise<FinalRun[]> {
  const { rows } = await warehouse.query<FinalRun>(
    `select id::text as run, kind, state, case when kind <> 'sentinel' then params ->> 'slotAt' end as "slotAt", enqueued::int as enqueued,
       (done + failed)::int as ended from vitalsync.runs order by id`,
  )
  return rows
}

async function readStuck(warehouse: pg.Client): Promise<Pick<FinalState, 'waitingItems' | 'quarantined'>> {
  const { rows } = await warehouse.query<{ waiting: number; quarantined: number }>(
    `select (select coalesce(sum(waiting), 0) from vitalsync.parcels)::int as waiting,
       (select count(*) from vitalsync.quarantine)::int as quarantined`,
  )
  return { waitingItems: rows[0]?.waiting ?? 0, quarantined: rows[0]?.quarantined ?? 0 }
}
