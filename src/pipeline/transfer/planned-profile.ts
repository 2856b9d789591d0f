import type { PushedStream } from './stream.ts'

/** The two ids of a profile: our own, and upstream's. Only requests to upstream carry `externalId`. */
export type ProfileIds = { readonly profileId: string; readonly externalId: string }

/** `new`: not registered upstream yet. `gone`: removed upstream, or about to be erased. */
export type ProfileState = 'new' | 'active' | 'gone'

/** A profile as a job works on it. */
export type PlannedProfile = ProfileIds & {
  readonly state: ProfileState
  /** The streams that had items to push when the plan was made. Later items make the profile due again. */
  readonly waiting: readonly PushedStream[]
}

/** Our own ids of some profiles, in order; `lastId` is where the next page begins. */
export type ProfilePage = { readonly ids: readonly string[]; readonly lastId: string }
