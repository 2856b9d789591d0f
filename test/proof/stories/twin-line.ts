import type pg from 'pg'
import { isOutage } from '../../../src/base/postgres/postgres-errors.ts'
import { createLedger } from '../../../src/pipeline/warehouse/ledger/coverage-ledger.ts'
import { createOutbox } from '../../../src/pipeline/warehouse/outbox/outbox.ts'
import type { Pool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { openReadingWriter, type ReadingWriter } from '../../../src/pipeline/warehouse/readings/reading-writer.ts'
import { createRuns } from '../../../src/pipeline/warehouse/runs/stored-runs.ts'
import { versions } from '../../simulation/circumstances.ts'
import { type Call, carryOutInModel, connectionCut, type Line, type LineParts } from '../../simulation/line.ts'
import { createWarehouse, type ModelWarehouse, type SimulatedProcess } from '../../simulation/warehouse.ts'
import { differenceOf, differencesBetween } from './compare-states.ts'
import type { Cutter } from './cut-connections.ts'
import { listModelState } from './model-lists.ts'
import { readRealState } from './real-state.ts'
import type { SavedCopy } from './saved-copy.ts'
import { shownResult } from './shown-result.ts'
import { setVirtualClock } from './virtual-clock.ts'

/** A database for stories, one story at a time. */
export type StoryDatabase = {
  readonly pool: Pool
  /** A connection beside those of the program. */
  readonly admin: pg.Client
  readonly cutter: Cutter
  readonly copy: SavedCopy
  readonly counts: { comparisons: number }
}

const tokenKeys = [Buffer.alloc(32, 7)]
/** Methods by which the real warehouse draws ids. The model takes the same. */
const DRAWS = /^(outbox\.add|runs\.(create|claimSlot|takeProduction))$/

type Rooms = Readonly<Record<string, object>> & { readonly writer: ReadingWriter }

/** The real warehouse as one process of the program opens it. */
function openRooms(pool: Pool, process: SimulatedProcess): Rooms {
  const { catalogue, settle, belief } = process
  const firstReadingMs = settle.intervalsMs[0] ?? 0
  const profiles = createProfiles({ pool, catalogue, tokenKeys })
  const commits = { rowsPerCommit: 1000, commitsAtOnce: 2 }
  return {
    ledger: createLedger({ pool, catalogue, firstReadingMs }),
    outbox: createOutbox({ pool, catalogue, firstReadingMs, now: process.clock }),
    profiles,
    lists: profiles,
    runs: createRuns({ pool }),
    writer: openReadingWriter({ pool, ...commits, now: () => process.clock(), belief, settle, account: 'story' }),
  }
}

export type TwinLine = Line & { close(): Promise<void> }

/** The model beside the real warehouse: both carry out each call, and must be alike after each step. */
export function createTwinLine({ pool, admin, cutter, copy, counts }: StoryDatabase, parts: LineParts): TwinLine {
  const next = { parcel: 0, run: '', lease: '' }
  const drawParcel = () => {
    next.parcel += 1
    return String(next.parcel)
  }
  const model: ModelWarehouse = createWarehouse({
    ...parts,
    ids: { parcel: drawParcel, run: () => next.run, lease: () => next.lease },
  })
  const opened = new Map<SimulatedProcess, Rooms>()
  const found: string[] = []
  let clock: { ms: number; set: Promise<unknown> } | undefined
  let isUncompared = true
  let saved: ReturnType<ModelWarehouse['backup']> | undefined

  function roomsOf(process: SimulatedProcess): Rooms {
    const rooms = opened.get(process) ?? openRooms(pool, process)
    opened.set(process, rooms)
    return rooms
  }

  async function bringClock(): Promise<void> {
    const ms = parts.now()
    if (clock?.ms !== ms) clock = { ms, set: setVirtualClock(admin, ms) }
    await clock.set
  }

  function carryOutForReal({ process: by, room, method, args }: Call): Promise<unknown> {
    process.env['TZ'] = by.zone
    const carryOut: unknown = Reflect.get(Object(roomsOf(by)[room]), method)
    if (typeof carryOut !== 'function') throw new Error(`the warehouse has no ${room}.${method}`)
    return carryOut(...args)
  }

  /** The ids that the real warehouse has drawn last. */
  async function readDrawn(runId: unknown): Promise<void> {
    const { rows } = await admin.query<{ parcel: number; run: string | null; lease: string | null }>(
      `select (select case when is_called then last_value else last_value - 1 end from vitalsync.parcels_id_seq)::float8 as parcel,
        (select max(id) from vitalsync.runs) as run, (select held_by from vitalsync.runs where id = $1) as lease`,
      [typeof runId === 'string' ? runId : null],
    )
    next.run = rows[0]?.run ?? ''
    next.lease = rows[0]?.lease ?? ''
    next.parcel = rows[0]?.parcel ?? 0
  }

  async function callDrawing(call: Call, isCarriedOut: boolean): Promise<unknown> {
    await readDrawn(undefined)
    const { parcel } = next
    const real = await carryOutForReal(call).catch((error: unknown) => failedAs(call, error))
    const runId = call.method === 'takeProduction' ? call.args[0] : undefined
    await readDrawn(runId)
    next.parcel = parcel
    const ours = isCarriedOut ? carryOutInModel(model, call) : undefined
    compareResults(call, ours, real)
    return real
  }

  async function callAlike(call: Call, isCarriedOut: boolean): Promise<unknown> {
    const carriedOut = carryOutForReal(call)
    const ours = isCarriedOut ? carryOutInModel(model, call) : undefined
    const real = await carriedOut.catch((error: unknown) => failedAs(call, error))
    compareResults(call, ours, real)
    return real
  }

  /** A connection that was cut fails its call, and nothing else does. */
  function failedAs({ cut, room, method }: Call, error: unknown): undefined {
    if (!cut || !isOutage(error)) found.push(`${room}.${method} of the warehouse fails: ${error}`)
    return undefined
  }

  function compareResults({ cut, room, method }: Call, ours: unknown, real: unknown): void {
    if (!cut) found.push(...differenceOf(`${room}.${method}`, shownResult(method, ours), shownResult(method, real)))
  }

  return {
    model,
    async call(call) {
      await bringClock()
      isUncompared = true
      const isCarriedOut = call.cut?.when !== 'before the commit'
      if (call.cut) cutter.arm(call.cut)
      const carryOut = DRAWS.test(`${call.room}.${call.method}`) ? callDrawing : callAlike
      const result = await carryOut(call, isCarriedOut)
      if (!call.cut) return result
      if (!cutter.disarm()) found.push(`${call.room}.${call.method} was not cut`)
      throw connectionCut()
    },
    async addProfile(externalId, state, wantedFromMs) {
      await bringClock()
      const profiles = createProfiles({ pool, catalogue: versions[0].catalogue, tokenKeys })
      await profiles.add([externalId], { wantedFrom: new Date(wantedFromMs), state })
      const profileId = (await profiles.findId(externalId))?.profileId ?? ''
      model.addProfile(profileId, { externalId, state, wantedFromMs })
      return profileId
    },
    async backup() {
      await copy.save()
      saved = model.backup()
    },
    async restore() {
      if (!saved) return false
      isUncompared = true
      await copy.restore()
      model.restore(saved)
      return true
    },
    async differences() {
      if (isUncompared) found.push(...differencesBetween(listModelState(model), await readRealState(admin)))
      if (isUncompared) counts.comparisons += 1
      isUncompared = false
      return found.splice(0)
    },
    async close() {
      for (const { writer } of opened.values()) await writer.close()
      await copy.clear()
    },
  }
}
