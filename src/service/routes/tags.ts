import { z } from 'zod'
import { tagQuerySchema } from '../../contract/query.ts'
import { type TagInput, tagAnswerSchema, tagsInputSchema } from '../../contract/tag.ts'
import { unauthorized, unknownProfile } from '../refusal.ts'
import { type Answer, type Call, defineRoute, type Room } from '../route.ts'
import { findProfileId } from '../store/profiles.ts'
import { readTags, storeTags } from '../store/tags.ts'
import { joined, windowOf } from './derived.ts'

type Tags = TagInput | TagInput[]
type TagQuery = z.infer<typeof tagQuerySchema>

const answeredTags = z.array(tagAnswerSchema)

const uploadTags = defineRoute({
  operation: 'uploadTags',
  summary: 'Upload tags, one or many',
  body: tagsInputSchema,
  answers: { 200: answeredTags },
  writes: true,
  run: (call) => upload(call, call.profileId),
})

const uploadTagsOf = defineRoute({
  operation: 'uploadTagsOf',
  summary: 'Upload tags for a profile, one or many',
  body: tagsInputSchema,
  answers: { 200: answeredTags },
  run: async (call) => upload(call, await profileOf(call)),
})

const tags = defineRoute({
  operation: 'tags',
  summary: 'Get tags',
  query: tagQuerySchema,
  answers: { 200: answeredTags, 204: null },
  run: (call) => read(call, call.profileId),
})

const tagsOf = defineRoute({
  operation: 'tagsOf',
  summary: 'Get tags of a profile',
  query: tagQuerySchema,
  answers: { 200: answeredTags, 204: null },
  run: async (call) => read(call, await profileOf(call)),
})

async function upload(call: Call<Tags, unknown>, profileId: string): Promise<Answer> {
  const { room, body } = call
  const sent = Array.isArray(body) ? body : [body]
  const stored = await storeTags(room.pool, { profileId, tags: sent, now: new Date(room.clock()) })
  if (!stored) throw unauthorized()
  return { status: 200, json: stored }
}

async function read(call: Call<unknown, TagQuery>, profileId: string): Promise<Answer> {
  const [types, categories] = [joined(call.query.types), joined(call.query.categories)]
  const found = await readTags(call.room.pool, profileId, { ...windowOf(call.query), types, categories })
  return found.length === 0 ? { status: 204 } : { status: 200, json: found }
}

async function profileOf(call: { room: Room; accountId: string; externalId: string }): Promise<string> {
  const profileId = await findProfileId(call.room.pool, call)
  if (profileId === undefined) throw unknownProfile()
  return profileId
}

export const tagRoutes = [uploadTags, tags, uploadTagsOf, tagsOf]
