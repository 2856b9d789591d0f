import { derivedReads, type OperationName } from '../../base/contract/operations.ts'
import type { OpenApi, OpenApiOperation } from './openapi.ts'

type Task = { readonly title: string; readonly about: string; readonly operations: readonly OperationName[] }

/** The tasks of a developer, in the order in which an app meets them. */
const tasks: readonly Task[] = [
  {
    title: 'Sign in and register',
    about:
      'An account signs in with its client key and gets an account token. With it, or with an app key, a profile is registered; each profile has tokens of its own.',
    operations: ['accountToken', 'register', 'registerByApp', 'profileToken', 'refreshToken'],
  },
  {
    title: 'Send what a wearable logged',
    about: 'Logs, tags, demographics and the device. The same log sent twice, with the same id, is stored once.',
    operations: [
      'uploadLogs',
      'uploadTags',
      'uploadTagsOf',
      'replaceDemographic',
      'updateDemographic',
      'updateDeviceInformation',
    ],
  },
  {
    title: 'Read what was derived',
    about:
      'Scores, biomarkers, archetypes, trends and comparisons, newest first. 204 means that there is nothing in the range. The header derivation-state says whether days of the range are still to be derived.',
    operations: derivedReads,
  },
  {
    title: 'Read what was sent',
    about: 'The tags, demographics and device of a profile, as they are now.',
    operations: ['tags', 'tagsOf', 'demographic', 'deviceInformation'],
  },
  {
    title: 'Find and delete profiles',
    about: 'A deletion takes everything of the profile with it, at once.',
    operations: ['profile', 'searchProfiles', 'deleteProfiles'],
  },
]

export type ReferenceEntry = { readonly path: string; readonly method: string; readonly operation: OpenApiOperation }
export type ReferenceSection = {
  readonly title: string
  readonly about: string
  readonly entries: readonly ReferenceEntry[]
}

/** Routes of extensions belong to no task of the interface and come last. */
export function sectionsOf(document: OpenApi): ReferenceSection[] {
  const entries = new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, ReferenceEntry] => [
        operation.operationId,
        { path, method: method.toUpperCase(), operation },
      ]),
    ),
  )
  const sections = tasks.map(({ title, about, operations }) => ({
    title,
    about,
    entries: operations.flatMap((name) => {
      const entry = entries.get(name)
      entries.delete(name)
      return entry ? [entry] : []
    }),
  }))
  if (entries.size === 0) return sections
  const rest = {
    title: 'Beyond the interface',
    about: 'Routes that this service adds.',
    entries: [...entries.values()],
  }
  return [...sections, rest]
}
