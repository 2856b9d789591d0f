/** The caller that an operation needs: any caller, an app by its headers, or the bearer of one kind of token. */
export type CallerKind = 'anyone' | 'app' | 'account' | 'profile'

export type Operation = {
  /** The name of the operation in logs, metrics and messages. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: `/api/v1/${string}`
  readonly caller: CallerKind
}

const definitions = {
  accountToken: { method: 'POST', path: '/api/v1/oauth/account/token', caller: 'anyone' },
  register: { method: 'POST', path: '/api/v1/oauth/profile/register', caller: 'account' },
  registerByApp: { method: 'POST', path: '/api/v1/oauth/profile/register/appId', caller: 'app' },
  profileToken: { method: 'POST', path: '/api/v1/oauth/profile/token', caller: 'account' },
  refreshToken: { method: 'POST', path: '/api/v1/oauth/profile/refreshToken', caller: 'profile' },
  profile: { method: 'GET', path: '/api/v1/account/profile/{externalId}', caller: 'account' },
  searchProfiles: { method: 'GET', path: '/api/v1/account/profile/search', caller: 'account' },
  deleteProfiles: { method: 'DELETE', path: '/api/v1/profile', caller: 'account' },
  uploadLogs: { method: 'POST', path: '/api/v1/profile/data/log', caller: 'profile' },
  uploadTags: { method: 'POST', path: '/api/v1/profile/tag', caller: 'profile' },
  tags: { method: 'GET', path: '/api/v1/profile/tag', caller: 'profile' },
  uploadTagsOf: { method: 'POST', path: '/api/v1/profile/tag/{externalId}', caller: 'account' },
  tagsOf: { method: 'GET', path: '/api/v1/profile/tag/{externalId}', caller: 'account' },
  scores: { method: 'GET', path: '/api/v1/profile/score', caller: 'profile' },
  scoresOf: { method: 'GET', path: '/api/v1/profile/score/{externalId}', caller: 'account' },
  biomarkers: { method: 'GET', path: '/api/v1/profile/biomarker', caller: 'profile' },
  biomarkersOf: { method: 'GET', path: '/api/v1/profile/biomarker/{externalId}', caller: 'account' },
  archetypes: { method: 'GET', path: '/api/v1/profile/archetypes', caller: 'profile' },
  archetypesOf: { method: 'GET', path: '/api/v1/profile/archetypes/{externalId}', caller: 'account' },
  trends: { method: 'GET', path: '/api/v1/profile/insight/trend', caller: 'profile' },
  trendsOf: { method: 'GET', path: '/api/v1/profile/insight/trend/{externalId}', caller: 'account' },
  comparisons: { method: 'GET', path: '/api/v1/profile/insight/comparison', caller: 'profile' },
  comparisonsOf: { method: 'GET', path: '/api/v1/profile/insight/comparison/{externalId}', caller: 'account' },
  demographic: { method: 'GET', path: '/api/v1/profile/demographic', caller: 'profile' },
  replaceDemographic: { method: 'PUT', path: '/api/v1/profile/demographic', caller: 'profile' },
  updateDemographic: { method: 'PATCH', path: '/api/v1/profile/demographic', caller: 'profile' },
  deviceInformation: { method: 'GET', path: '/api/v1/profile/deviceInformation', caller: 'profile' },
  updateDeviceInformation: { method: 'PUT', path: '/api/v1/profile/deviceInformation', caller: 'profile' },
} as const satisfies Record<string, Omit<Operation, 'name'>>

export type OperationName = keyof typeof definitions

/** The reads of derived records: a profile's own, and those for an account. */
export const derivedReads = (['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons'] as const).flatMap(
  (name): OperationName[] => [name, `${name}Of`],
)

/** The 28 operations of the interface. The service, the client and the documents all use this list. */
export const operations = Object.fromEntries(
  Object.entries(definitions).map(([name, operation]) => [name, { name, ...operation }]),
) as { readonly [Name in OperationName]: (typeof definitions)[Name] & { readonly name: Name } } // Object.fromEntries loses the literal keys; the cast restores them
