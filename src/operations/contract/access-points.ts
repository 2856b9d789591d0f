import { CLOCK_SKEW_MAX_MS } from '../../base/connections/finding.ts'
import { errorBodySchema } from '../../base/contract/error-body.ts'
import { operations } from '../../base/contract/operations.ts'
import { isJsonObject } from '../../base/text/json.ts'
import { SECOND } from '../../base/time/units.ts'
import { foldedName } from '../../pipeline/transfer/misfits.ts'
import {
  type ContractPoint,
  type Deviation,
  type Exchange,
  endOf,
  harmful,
  harmless,
  isOk,
  listed,
  type Question,
  shortList,
} from './contract-point.ts'
import { PEOPLE_MAX } from './stream-answers.ts'

export const accountTokenKey = 'account-token'
export const searchKeys: readonly string[] = ['search/1', 'search/0']
export const profileTokenKey = (person: number | 'throw-away') => `profile-token/${person}`

type ObjectRule = {
  readonly required: readonly string[]
  readonly optional?: readonly string[]
  readonly known?: readonly string[]
}

/** How an object differs from its fields: one that the client needs is harmful where it is missing, the others are not. */
function fieldDeviations(answer: Exchange, rule: ObjectRule): readonly Deviation[] {
  const { required, optional = [], known = [] } = rule
  const { body, question } = answer
  if (!isJsonObject(body)) return [harmful('no JSON object', question)]
  const lacking = (names: readonly string[]) => names.filter((name) => body[name] == null)
  const extra = Object.keys(body).filter((name) => ![...required, ...optional, ...known].includes(name))
  return [
    ...listed(harmful, 'without', lacking(required), question),
    ...listed(harmless, 'without', lacking(optional), question),
    ...listed(harmless, 'further fields:', extra.map(foldedName), question),
  ]
}

/** A point that asks one question, and judges its answer. A question about a person is asked where there is one. */
export function onePoint(
  point: Pick<ContractPoint, 'name' | 'specified' | 'setting'>,
  question: Question,
  judge: (answer: Exchange) => readonly Deviation[],
): ContractPoint {
  return {
    ...point,
    requestsMax: 1,
    asks: ({ people }) => (question.person === undefined || people > 0 ? [question] : []),
    judge(seen) {
      const answer = seen.answer(question.key)
      return answer && judge(answer)
    },
  }
}

/** The answer has one of the statuses; `further` looks at what such an answer holds. */
export const expectStatus =
  (
    statuses: readonly number[],
    severity: Deviation['severity'] = 'harmful',
    further: (answer: Exchange) => readonly Deviation[] = () => [],
  ) =>
  (answer: Exchange): readonly Deviation[] => {
    if (statuses.includes(answer.status ?? 0)) return further(answer)
    return [{ severity, says: `it answers ${endOf(answer)}`, question: answer.question }]
  }

export const expectFields = (statuses: readonly number[], rule: ObjectRule, severity?: Deviation['severity']) =>
  expectStatus(statuses, severity, (answer) => fieldDeviations(answer, rule))

const tokenFields = { optional: ['expiresIn', 'tokenType'] }
export const profileTokenRule = { required: ['profileToken'], optional: ['refreshToken', ...tokenFields.optional] }

const unknownName = 'vitalsync-contract-nobody-has-this-name'

export const accessPoints: readonly ContractPoint[] = [
  onePoint(
    { name: 'account token', specified: '200 with accountToken, expiresIn and tokenType' },
    {
      key: accountTokenKey,
      operation: operations.accountToken,
      body: ({ clientId, clientSecret }) => ({ clientId, clientSecret }),
    },
    expectFields([200, 201], { required: ['accountToken'], ...tokenFields }),
  ),
  onePoint(
    { name: 'search of profiles', specified: 'items and currentPage 1 of page 1; totalPages, pageSize, totalCount' },
    { key: 'search/1', operation: operations.searchProfiles, query: { currentPage: 1, pageSize: 20 } },
    expectStatus([200], 'harmful', (answer) => {
      const optional = ['currentPage', 'totalPages', 'pageSize', 'totalCount']
      const { body, question } = answer
      const page = isJsonObject(body) ? body['currentPage'] : undefined
      return [
        ...fieldDeviations(answer, { required: ['items'], optional }),
        ...(page === undefined || page === 1 ? [] : [harmless('page 1 is named otherwise', question)]),
      ]
    }),
  ),
  onePoint(
    { name: 'page zero of a search', specified: '400: pages count from 1' },
    { key: 'search/0', operation: operations.searchProfiles, query: { currentPage: 0, pageSize: 20 } },
    (answer) => (isOk(answer) ? [harmless('a page: both ways of counting are read', answer.question)] : []),
  ),
  onePoint(
    { name: 'one profile', specified: '200 with its externalId, profileId and times' },
    { key: 'profile/0', operation: operations.profile, person: 0 },
    expectFields([200], {
      required: ['externalId'],
      optional: ['profileId', 'createdAtUtc', 'isSampleProfile'],
      known: ['accountId', 'sdkId', 'sdkVersion', 'deviceType', 'dataLastReceivedAtUtc', 'dataSources'],
    }),
  ),
  {
    // The tokens are asked for by the streams that are read with them.
    name: 'profile token',
    specified: '200 with profileToken, refreshToken, expiresIn and tokenType',
    judge(seen) {
      const people = Array.from({ length: PEOPLE_MAX }, (_, person) => person)
      const answers = people.flatMap((person) => seen.answer(profileTokenKey(person)) ?? [])
      if (answers.length === 0) return undefined
      return answers.flatMap(expectFields([200, 201], profileTokenRule))
    },
  },
  onePoint(
    { name: 'a profile that is not there', specified: '404' },
    {
      key: 'unknown-profile',
      operation: { ...operations.profile, path: `/api/v1/account/profile/${unknownName}` },
    },
    expectStatus([404]),
  ),
  onePoint(
    { name: 'a token that is not valid', specified: '401' },
    {
      key: 'made-up-token',
      operation: operations.searchProfiles,
      query: { currentPage: 1, pageSize: 1 },
      token: 'made-up',
    },
    expectStatus([401]),
  ),
  onePoint(
    { name: 'a window that ends before it starts', specified: '400' },
    {
      key: 'backwards',
      operation: operations.scoresOf,
      person: 0,
      query: { startDateTime: '2026-01-02T00:00:00.000Z', endDateTime: '2026-01-01T00:00:00.000Z' },
    },
    expectStatus([400], 'harmless'),
  ),
  onePoint(
    { name: 'a parameter that is not known', specified: 'no error; a note in query-notes' },
    {
      key: 'unknown-parameter',
      operation: operations.scoresOf,
      person: 0,
      query: { startDateTime: '1990-01-01T00:00:00.000Z', endDateTime: '1990-01-02T00:00:00.000Z', typs: 'sleep' },
    },
    (answer) => {
      if (!isOk(answer)) return [harmless(`it answers ${endOf(answer)}`, answer.question)]
      return 'query-notes' in answer.headers ? [] : [harmless('no note', answer.question)]
    },
  ),
  {
    name: 'bodies of errors',
    specified: 'title, statusCode, location and errors by field',
    judge(seen) {
      const errors = seen.answers().filter(({ status }) => status !== undefined && status >= 400 && status < 500)
      if (errors.length === 0) return undefined
      const others = errors.filter(({ body }) => !errorBodySchema.safeParse(body).success)
      const [first] = others
      if (first === undefined) return []
      const says = first.body === undefined ? 'no JSON body' : 'another shape'
      return [harmless(`${says}: refused items are found by halving a batch`, first.question)]
    },
  },
  {
    name: 'redirects',
    specified: 'none: they are not followed, for they would carry the token along',
    setting: 'UPSTREAM_URL: the address to which it redirects',
    judge(seen) {
      const found = seen
        .answers()
        .find(({ status }) => status !== undefined && status >= 300 && status < 400 && status !== 304)
      return found ? [harmful(`it answers ${found.status}`, found.question)] : []
    },
  },
  {
    name: 'Retry-After',
    specified: 'seconds or an HTTP date with each 429 and 503',
    setting: 'BUDGET_PER_SECOND, BUDGET_IN_FLIGHT',
    judge(seen) {
      const busy = seen.answers().filter(({ status }) => status === 429 || status === 503)
      if (busy.length === 0) return undefined
      const without = busy.find(({ headers }) => !/^\d+$|GMT$/.test(headers['retry-after'] ?? ''))
      return without ? [harmless('none, or in another form: the pause is ours', without.question)] : []
    },
  },
  {
    name: 'rate limit',
    specified: 'not named in headers',
    setting: 'BUDGET_PER_SECOND: below the limit',
    judge(seen) {
      const names = seen
        .answers()
        .flatMap(({ headers }) => Object.keys(headers).filter((name) => /rate-?limit/.test(name)))
      return names.length === 0 ? [] : [harmless(`named in ${shortList(names)}: keep below it`)]
    },
  },
  {
    name: 'clock',
    specified: `Date in each answer, within ${CLOCK_SKEW_MAX_MS / SECOND} s of ours`,
    judge(seen) {
      const answered = seen.answers().filter(({ status }) => status !== undefined)
      if (answered.length === 0) return undefined
      const without = answered.find(({ aheadMs }) => aheadMs === undefined)
      const skews = answered.flatMap(({ aheadMs }) => aheadMs ?? [])
      const isOff = skews.some((aheadMs) => Math.abs(aheadMs) > CLOCK_SKEW_MAX_MS)
      return [
        ...(without ? [harmless('no Date: how far its clock is off stays unknown', without.question)] : []),
        ...(isOff ? [harmful('its clock is further off: set both by NTP')] : []),
      ]
    },
  },
]
