import { EngineUnreachable } from '../../src/base/errors.ts'
import type { createWarehouse, ModelWarehouse, SimulatedProcess } from './warehouse.ts'

/** The connection to Postgres dies before the commit, or after it and before its answer. `at`: before the n-th statement. */
export type Cut = { readonly when: 'before the commit' | 'after the commit'; readonly at: number }

/** One transaction that a worker asks for: `room` and `method` name it. */
export type Call = {
  readonly process: SimulatedProcess
  readonly room: string
  readonly method: string
  readonly args: readonly unknown[]
  readonly cut?: Cut | undefined
}

/** The warehouse beneath a world: the model alone, or the model beside the real one. */
export type Line = {
  readonly model: ModelWarehouse
  call(call: Call): Promise<unknown>
  addProfile(externalId: string, state: 'new' | 'active', wantedFromMs: number): Promise<string>
  backup(): Promise<void>
  /** False where there is no backup. */
  restore(): Promise<boolean>
  /** The differences between the model and the real warehouse. Asked after each step. */
  differences(): Promise<string[]>
}

export type LineParts = Omit<Parameters<typeof createWarehouse>[0], 'ids'>

export const connectionCut = () => new EngineUnreachable('the connection was cut')

/** The methods of the model by room, as calls name them. */
export function carryOutInModel(model: ModelWarehouse, { process, room, method, args }: Call): unknown {
  const rooms: Record<string, Record<string, unknown>> = model.roomsOf(process)
  const carryOut = rooms[room]?.[method]
  if (typeof carryOut !== 'function') throw new Error(`the model has no ${room}.${method}`)
  return carryOut(...args)
}

/** The model alone. */
export function createModelLine(create: (ids: Parameters<typeof createWarehouse>[0]['ids']) => ModelWarehouse): Line {
  const drawn = { profile: 0, parcel: 0, run: 0, lease: 0 }
  const draw = (name: keyof typeof drawn) => {
    drawn[name] += 1
    return String(drawn[name])
  }
  const model = create({ parcel: () => draw('parcel'), run: () => draw('run'), lease: () => `lease ${draw('lease')}` })
  let saved: ReturnType<ModelWarehouse['backup']> | undefined
  return {
    model,
    async call(call) {
      if (call.cut?.when === 'before the commit') throw connectionCut()
      const result = carryOutInModel(model, call)
      if (call.cut) throw connectionCut()
      return result
    },
    async addProfile(externalId, state, wantedFromMs) {
      const profileId = draw('profile')
      model.addProfile(profileId, { externalId, state, wantedFromMs })
      return profileId
    },
    async backup() {
      saved = model.backup()
    },
    async restore() {
      if (saved) model.restore(saved)
      return saved !== undefined
    },
    differences: async () => [],
  }
}
