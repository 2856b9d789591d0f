import type { Queryable } from './pool.ts'

/** The revision of a profile's derived records now; undefined when there are none, or no such profile. */
export type RevisionLook = (profileId: string) => Promise<string | undefined>

/**
 * Looks up revisions, many at a time: who asks while a look is under way shares the next one, so that a thousand
 * readers at once cost the database a few statements. A look never began before it was asked for.
 */
export function createRevisionLook(db: Queryable): RevisionLook {
  let waiting = new Map<string, PromiseWithResolvers<string | undefined>>()
  let looking = false

  const lookFor = async (asked: typeof waiting) => {
    try {
      const { rows } = await db.query<[profileId: string, revision: string]>({
        name: 'look-at-revisions',
        text: 'select profile_id, revision from service.derived_revisions where profile_id = any($1::uuid[])',
        values: [[...asked.keys()]],
        rowMode: 'array',
      })
      const revisions = new Map(rows)
      for (const [profileId, { resolve }] of asked) resolve(revisions.get(profileId))
    } catch (error) {
      for (const { reject } of asked.values()) reject(error)
    }
  }

  const lookOn = async () => {
    looking = true
    while (waiting.size > 0) {
      const asked = waiting
      waiting = new Map()
      await lookFor(asked)
    }
    looking = false
  }

  return (profileId) => {
    const asked = waiting.get(profileId) ?? Promise.withResolvers<string | undefined>()
    waiting.set(profileId, asked)
    if (!looking) void lookOn()
    return asked.promise
  }
}
