import { changesOf } from './changes.ts'
import { Rejected } from './errors.ts'
import { add, type Counts, type JobContext, nothing } from './job.ts'
import { cutBatches, faultsByIndex } from './upstream/batches.ts'
import type { PlannedProfile } from './warehouse/ledger.ts'
import type { PushedStream, WaitingItem } from './warehouse/outbox.ts'

type Pushing = Pick<JobContext, 'upstream' | 'outbox' | 'signal' | 'lane'>

/** How many items of one stream are taken from the outbox at a time. */
const ITEMS_AT_ONCE = 900

/**
 * Sends what waits for one profile, oldest endDateTime first. An item is marked sent only after upstream said yes, so a
 * death in between sends it again, which its stable id makes harmless. Items that upstream refuses go to quarantine with
 * its reason; the good ones beside them are sent.
 */
export async function pushWaiting(profile: PlannedProfile, context: Pushing): Promise<Counts> {
  let counts = nothing
  for (const stream of profile.waiting) {
    for (;;) {
      const items = await context.outbox.waiting(profile.profileId, stream, ITEMS_AT_ONCE)
      if (items.length === 0) break
      counts = add(counts, await pushItems(profile, stream, items, context))
      if (items.length < ITEMS_AT_ONCE) break
    }
  }
  return counts
}

async function pushItems(
  profile: PlannedProfile,
  stream: PushedStream,
  items: readonly WaitingItem[],
  context: Pushing,
): Promise<Counts> {
  let counts = nothing
  for (const { from, to } of cutBatches(items.map((item) => item.body))) {
    counts = add(counts, await pushBatch(profile, stream, items.slice(from, to), context))
  }
  return counts
}

async function pushBatch(
  profile: PlannedProfile,
  stream: PushedStream,
  batch: readonly WaitingItem[],
  context: Pushing,
): Promise<Counts> {
  const [item] = batch
  if (stream === 'demographics' && item?.mode === 'patch') return patchDemographics(profile, item, context)
  try {
    await send(profile, stream, batch, context)
  } catch (error) {
    if (!isAboutItems(error)) throw error
    return add({ ...nothing, requests: 1 }, await partRefused({ profile, stream, batch, error }, context))
  }
  await context.outbox.sent(profile.profileId, stream, batch)
  return { ...nothing, requests: 1, itemsPushed: batch.length }
}

/** Demographics wait under one key, so there is one of them. What upstream has is not sent again. */
async function patchDemographics(
  profile: PlannedProfile,
  item: WaitingItem,
  { upstream, outbox, lane, signal }: Pushing,
): Promise<Counts> {
  const { profileId } = profile
  const changes = changesOf(JSON.parse(item.body), (await outbox.lastDemographics(profileId)) ?? {})
  if (changes === undefined) {
    await outbox.known(profileId, 'demographics', [item])
    return nothing
  }
  try {
    await upstream.patchDemographics(profile, changes, { lane, signal })
  } catch (error) {
    if (!isAboutItems(error)) throw error
    await outbox.refused(profileId, 'demographics', [{ ...item, path: '', reason: wordsOf(error).join('; ') }])
    return { ...nothing, requests: 1, refused: 1 }
  }
  await outbox.sent(profileId, 'demographics', [item])
  return { ...nothing, requests: 1, itemsPushed: 1 }
}

/** Refusals that speak of what was sent. Any other, of the route or of our rights, says nothing against the items. */
const isAboutItems = (error: unknown): error is Rejected =>
  error instanceof Rejected && (error.status === 400 || error.status === 413 || error.status === 422)

type RefusedBatch = { profile: PlannedProfile; stream: PushedStream; batch: readonly WaitingItem[]; error: Rejected }

/** Upstream takes all or nothing: those it names are set aside and the others sent; where it names none, by halves. */
async function partRefused({ profile, stream, batch, error }: RefusedBatch, context: Pushing): Promise<Counts> {
  const faults = batch.length === 1 ? new Map([[0, wordsOf(error)]]) : faultsByIndex(error)
  const bad = batch.flatMap((item, index) => {
    const reasons = faults.get(index)
    return reasons ? [{ ...item, path: `[${index}]`, reason: reasons.join('; ') }] : []
  })
  if (bad.length > 0) {
    await context.outbox.refused(profile.profileId, stream, bad)
    const good = batch.filter((_, index) => !faults.has(index))
    const rest = good.length > 0 ? await pushBatch(profile, stream, good, context) : nothing
    return add({ ...nothing, refused: bad.length }, rest)
  }
  const middle = Math.ceil(batch.length / 2)
  const first = await pushBatch(profile, stream, batch.slice(0, middle), context)
  return add(first, await pushBatch(profile, stream, batch.slice(middle), context))
}

const wordsOf = (error: Rejected): string[] => {
  const words = error.details.flatMap(({ path, reasons }) => reasons.map((reason) => `${path}: ${reason}`))
  return words.length > 0 ? words : [error.message]
}

async function send(
  profile: PlannedProfile,
  stream: PushedStream,
  batch: readonly WaitingItem[],
  { upstream, lane, signal }: Pushing,
): Promise<void> {
  const bodies = batch.map((item) => item.body)
  const options = { lane, signal }
  if (stream === 'data-logs') await upstream.pushLogs(profile, bodies, options)
  else if (stream === 'tags') await upstream.pushTags(profile, bodies, options)
  else {
    // Snapshots wait under one key each, so there is one of them.
    for (const item of batch) {
      if (stream === 'device-information') await upstream.putDeviceInformation(profile, item.body, options)
      else await upstream.putDemographics(profile, item.body, options)
    }
  }
}
