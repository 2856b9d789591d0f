import { z } from 'zod'
import { externalIdSchema } from '../../base/contract/authentication.ts'
import { operations } from '../../base/contract/operations.ts'
import {
  deleteProfilesInputSchema,
  profileAnswerSchema,
  profilePageAnswerSchema,
  profileSearchQuerySchema,
} from '../../base/contract/profile.ts'
import { badRequest, unknownProfile } from '../http/request-error.ts'
import { logSecurity } from '../http/security-log.ts'
import { defineRoute } from '../http/service-route.ts'
import { deleteProfiles, findProfile } from '../store/service-profiles.ts'

const getProfile = defineRoute({
  ...operations.profile,
  summary: 'Get a profile by externalId',
  answers: { 200: profileAnswerSchema },
  async run({ context, accountId, externalId }) {
    const found = await findProfile(context.reads, { accountId, externalId })
    if (!found) throw unknownProfile()
    return { status: 200, json: found }
  },
})

const search = defineRoute({
  ...operations.searchProfiles,
  summary: 'Search profiles by a part of their externalId; pages count from 1',
  query: profileSearchQuerySchema,
  answers: { 200: profilePageAnswerSchema },
  async run({ context, accountId, query }) {
    const { searchParameter, currentPage, pageSize } = query
    const found = await context.searchLimiter.run(accountId, () =>
      context.profileSearch.find({ accountId, searchParameter, page: currentPage, pageSize }),
    )
    const totalPages = Math.ceil(found.totalCount / pageSize)
    return { status: 200, json: { ...found, currentPage, totalPages, pageSize } }
  },
})

const removeProfiles = defineRoute({
  ...operations.deleteProfiles,
  summary: 'Delete profiles with all of their data; unknown ids are ignored',
  body: deleteProfilesInputSchema,
  bodyRequired: false,
  query: z.object({ externalId: z.union([externalIdSchema, z.array(externalIdSchema).max(100)]).optional() }),
  answers: { 204: null },
  async run({ context, accountId, body, query, request }) {
    const inBody = body === undefined ? [] : Array.isArray(body) ? body : body.externalIds
    const externalIds = [...inBody, ...[query.externalId ?? []].flat()]
    if (body === undefined && externalIds.length === 0) {
      throw badRequest('body', [{ origin: 'externalIds', errors: ['must name the profiles to delete'] }])
    }
    const profileIds = await deleteProfiles(context.pool, { accountId, externalIds })
    context.tokenCache.clear()
    if (profileIds.length > 0) {
      const about = { address: request.ip, accountId, profileIds, requestId: request.id }
      logSecurity(context.log, 'profiles erased', about)
    }
    return { status: 204 }
  },
})

export const profileRoutes = [getProfile, search, removeProfiles]
