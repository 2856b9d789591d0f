import { changesOf } from './changes.ts'
import { Rejected } from './errors.ts'
import { add, type Counts, type JobContext, nothing } from './job.ts'
import { type Load, loadOf, loadsOf, type Parcel, type Piece } from './parcel.ts'
import { faultsByIndex } from './upstream/batches.ts'
import type { PlannedProfile } from './warehouse/ledger.ts'
import type { PushedStream } from './warehouse/outbox.ts'

type Pushing = Pick<JobContext, 'upstream' | 'outbox' | 'signal' | 'lane'>
type Sending = { readonly profile: PlannedProfile; readonly stream: PushedStream; readonly context: Pushing }

/**
 * Sends what waits for one profile, oldest endDateTime first. Parcels are marked sent only after upstream said yes, so a
 * death in between sends them again, which their items' stable ids make harmless. Items that upstream refuses go to
 * quarantine with its reason; the good ones beside them are sent.
 */
export async function pushWaiting(profile: PlannedProfile, context: Pushing): Promise<Counts> {
  let counts = nothing
  for (const stream of profile.waiting) {
    const push = stream === 'data-logs' || stream === 'tags' ? pushLists : pushSnapshots
    for (;;) {
      const { parcels, more } = await context.outbox.waiting(profile.profileId, stream)
      counts = add(counts, await push({ profile, stream, context }, parcels))
      if (!more) break
    }
  }
  return counts
}

/** Marks once what several requests carried: dying before that repeats those requests. */
async function pushLists(sending: Sending, parcels: readonly Parcel[]): Promise<Counts> {
  const { profile, stream, context } = sending
  let counts = nothing
  const sent: Parcel[] = []
  try {
    for (const load of loadsOf(parcels)) {
      const taken = new Set<string>()
      counts = add(counts, await pushLoad(sending, load, taken))
      sent.push(...load.parcels.filter(({ id }) => taken.has(id)))
    }
  } finally {
    if (sent.length > 0) await context.outbox.sent({ profileId: profile.profileId, stream, parcels: sent })
  }
  return counts
}

/** `taken` gathers the parcels of which upstream took something. */
async function pushLoad(sending: Sending, load: Load, taken: Set<string>): Promise<Counts> {
  const { profile, stream, context } = sending
  const { upstream, lane, signal } = context
  try {
    if (stream === 'data-logs') await upstream.pushLogs(profile, load, { lane, signal })
    else await upstream.pushTags(profile, load, { lane, signal })
  } catch (error) {
    if (!isAboutItems(error)) throw error
    return add({ ...nothing, requests: 1 }, await partRefused(sending, { load, taken, error }))
  }
  for (const { id } of load.parcels) taken.add(id)
  return { ...nothing, requests: 1, itemsPushed: load.count }
}

/** Refusals that speak of what was sent. Any other, of the route or of our rights, says nothing against the items. */
const isAboutItems = (error: unknown): error is Rejected =>
  error instanceof Rejected && (error.status === 400 || error.status === 413 || error.status === 422)

type RefusedLoad = { readonly load: Load; readonly taken: Set<string>; readonly error: Rejected }

/** Upstream takes all or nothing: those it names are set aside and the others sent; where it names none, by halves. */
async function partRefused(sending: Sending, { load, taken, error }: RefusedLoad): Promise<Counts> {
  const pieces = load.pieces()
  const faults = pieces.length === 1 ? new Map([[0, wordsOf(error)]]) : faultsByIndex(error)
  const some = (chosen: readonly Piece[]) => pushLoad(sending, loadOf(chosen, parcelsOf(chosen, load)), taken)
  const bad = pieces.flatMap((piece, index) => {
    const reasons = faults.get(index)
    return reasons ? [{ ...piece, path: `[${index}]`, reason: reasons.join('; ') }] : []
  })
  if (bad.length > 0) {
    const { profile, stream, context } = sending
    await context.outbox.refused({ profileId: profile.profileId, stream, parcels: load.parcels }, bad)
    const good = pieces.filter((_, index) => !faults.has(index))
    return add({ ...nothing, refused: bad.length }, good.length > 0 ? await some(good) : nothing)
  }
  const middle = Math.ceil(pieces.length / 2)
  return add(await some(pieces.slice(0, middle)), await some(pieces.slice(middle)))
}

function parcelsOf(pieces: readonly Piece[], load: Load): Parcel[] {
  const ids = new Set(pieces.map(({ parcelId }) => parcelId))
  return load.parcels.filter(({ id }) => ids.has(id))
}

const wordsOf = (error: Rejected): string[] => {
  const words = error.details.flatMap(({ path, reasons }) => reasons.map((reason) => `${path}: ${reason}`))
  return words.length > 0 ? words : [error.message]
}

/** Snapshots wait under one key each: there is one, in a parcel of its own. */
async function pushSnapshots(sending: Sending, parcels: readonly Parcel[]): Promise<Counts> {
  let counts = nothing
  for (const parcel of parcels) counts = add(counts, await pushSnapshot(sending, parcel))
  return counts
}

async function pushSnapshot({ profile, stream, context }: Sending, parcel: Parcel): Promise<Counts> {
  const { upstream, outbox, lane, signal } = context
  const { body } = parcel
  const push = { profileId: profile.profileId, stream, parcels: [parcel] }
  try {
    if (stream === 'device-information') await upstream.putDeviceInformation(profile, body, { lane, signal })
    else if (parcel.mode === 'put') await upstream.putDemographics(profile, body, { lane, signal })
    else {
      // What upstream has is not sent again.
      const changes = changesOf(JSON.parse(body), (await outbox.lastDemographics(profile.profileId)) ?? {})
      if (changes === undefined) {
        await outbox.known(push)
        return nothing
      }
      await upstream.patchDemographics(profile, changes, { lane, signal })
    }
  } catch (error) {
    if (!isAboutItems(error)) throw error
    const refused = { parcelId: parcel.id, place: 0, body, path: '', reason: wordsOf(error).join('; ') }
    await outbox.refused(push, [refused])
    return { ...nothing, requests: 1, refused: 1 }
  }
  await outbox.sent(push)
  return { ...nothing, requests: 1, itemsPushed: 1 }
}
