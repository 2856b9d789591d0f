import { z } from 'zod'
import { operations } from '../../base/contract/operations.ts'
import { type TagInput, tagAnswerSchema, tagQuerySchema, tagsInputSchema, tagTypes } from '../../base/contract/tag.ts'
import type { RouteAnswer } from '../../web/route.ts'
import type { ServiceContext } from '../http/context.ts'
import { mergedFilter, requestedRangeOf } from '../http/query-parameters.ts'
import { unauthorized, unknownProfile } from '../http/request-error.ts'
import { defineRoute, type RouteCall } from '../http/service-route.ts'
import { readTags, storeTags } from '../store/profile-tags.ts'
import { findProfileId } from '../store/service-profiles.ts'

type TagQuery = z.infer<typeof tagQuerySchema>

const answeredTags = z.array(tagAnswerSchema)

const uploadTags = defineRoute({
  ...operations.uploadTags,
  summary: 'Upload tags, one or many',
  body: tagsInputSchema,
  answers: { 200: answeredTags },
  writes: true,
  run: (call) => storeSentTags(call, call.profileId),
})

const uploadTagsOf = defineRoute({
  ...operations.uploadTagsOf,
  summary: 'Upload tags for a profile, one or many',
  body: tagsInputSchema,
  answers: { 200: answeredTags },
  run: async (call) => storeSentTags(call, await requireProfileId(call)),
})

const tags = defineRoute({
  ...operations.tags,
  summary: 'Get tags',
  query: tagQuerySchema,
  words: { types: tagTypes },
  answers: { 200: answeredTags, 204: null },
  run: (call) => readFilteredTags(call, call.profileId),
})

const tagsOf = defineRoute({
  ...operations.tagsOf,
  summary: 'Get tags of a profile',
  query: tagQuerySchema,
  words: { types: tagTypes },
  answers: { 200: answeredTags, 204: null },
  run: async (call) => readFilteredTags(call, await requireProfileId(call)),
})

async function storeSentTags(call: RouteCall<TagInput | TagInput[], unknown>, profileId: string): Promise<RouteAnswer> {
  const { context, body } = call
  const sent = Array.isArray(body) ? body : [body]
  const stored = await storeTags(context.pool, { profileId, tags: sent, nowAt: new Date(context.clock()) })
  if (!stored) throw unauthorized()
  return { status: 200, json: stored }
}

async function readFilteredTags(call: RouteCall<unknown, TagQuery>, profileId: string): Promise<RouteAnswer> {
  const [types, categories] = [mergedFilter(call.query.types), mergedFilter(call.query.categories)]
  const found = await readTags(call.context.reads, profileId, { ...requestedRangeOf(call.query), types, categories })
  return found.length === 0 ? { status: 204 } : { status: 200, json: found }
}

async function requireProfileId(call: {
  context: ServiceContext
  accountId: string
  externalId: string
}): Promise<string> {
  const profileId = await findProfileId(call.context.reads, call)
  if (profileId === undefined) throw unknownProfile()
  return profileId
}

export const tagRoutes = [uploadTags, tags, uploadTagsOf, tagsOf]
