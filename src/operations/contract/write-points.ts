import { operations } from '../../base/contract/operations.ts'
import { isJsonObject } from '../../base/text/json.ts'
import { expectFields, expectStatus, onePoint, profileTokenKey, profileTokenRule } from './access-points.ts'
import {
  type ContractPoint,
  type Deviation,
  type Exchange,
  endOf,
  harmful,
  harmless,
  isOk,
  type Question,
  type Seen,
} from './contract-point.ts'

/** A day long past, so that a profile that could not be deleted has no data of today. */
const at = (hour: number) => `2020-03-03T${String(hour).padStart(2, '0')}:00:00+00:00`

const log = (changes: object = {}) => ({
  id: '0dd00000-0000-4000-8000-000000000001',
  logType: 'activity',
  dataType: 'steps',
  value: 12,
  unit: 'count',
  source: 'vitalsync-contract',
  recordingMethod: 'automatically_recorded',
  deviceType: 'phone',
  startDateTime: at(10),
  endDateTime: at(11),
  ...changes,
})

const tag = { type: 'event', name: 'vitalsync-contract', source: 'vitalsync-contract', startDateTime: at(12) }

type Step = Pick<Question, 'key' | 'operation' | 'body'> & {
  readonly name: string
  readonly specified: string
  /** The step whose answer must have come well. */
  readonly after: string
  readonly judge: (answer: Exchange) => readonly Deviation[]
}

const stored = [200, 201, 202, 204]

const counts = (wanted: Readonly<Record<string, number>>) => (answer: Exchange) => {
  const { body, question } = answer
  const isCounted = isJsonObject(body) && Object.entries(wanted).every(([name, count]) => body[name] === count)
  return isCounted ? [] : [harmless('no counts, or others: the status says what was accepted', question)]
}

const registerKey = 'write/register'

/** In the order in which they are sent. Each changes nothing but the profile that the first registers. */
const steps: readonly Step[] = [
  {
    name: 'registration',
    specified: '201 with a profile token',
    after: '',
    key: registerKey,
    operation: operations.register,
    body: ({ externalId }) => ({ externalId }),
    judge: (answer) => [
      ...(answer.status === 200 ? [harmless('200', answer.question)] : []),
      ...expectFields([200, 201], profileTokenRule)(answer),
    ],
  },
  {
    name: 'registration of a name in use',
    specified: '400',
    after: registerKey,
    key: 'write/register-again',
    operation: operations.register,
    body: ({ externalId }) => ({ externalId }),
    judge: expectStatus([400], 'harmless'),
  },
  {
    name: 'token of a new profile',
    specified: '200 with a profile token',
    after: registerKey,
    key: profileTokenKey('throw-away'),
    operation: operations.profileToken,
    body: ({ externalId }) => ({ externalId }),
    judge: expectFields([200, 201], profileTokenRule),
  },
  {
    name: 'upload of logs',
    specified: '200 with counts; the same again is a duplicate',
    after: profileTokenKey('throw-away'),
    key: 'write/logs',
    operation: operations.uploadLogs,
    body: () => [log()],
    judge: expectStatus(stored, 'harmful', counts({ received: 1, accepted: 1 })),
  },
  {
    name: 'the same logs again',
    specified: '200, counted as duplicates',
    after: 'write/logs',
    key: 'write/logs-again',
    operation: operations.uploadLogs,
    body: () => [log()],
    judge: expectStatus(stored, 'harmful', counts({ received: 1, accepted: 0, duplicates: 1 })),
  },
  {
    name: 'a bad log beside a good one',
    specified: '400 that names the bad one by its index; neither is stored',
    after: 'write/logs',
    key: 'write/bad-log',
    operation: operations.uploadLogs,
    body: () => [log({ id: '0dd00000-0000-4000-8000-000000000002' }), log({ unit: undefined })],
    judge: expectStatus([400, 422], 'harmful', ({ body, question }) => {
      const named = isJsonObject(body) && JSON.stringify(body['errors'] ?? '').includes('[1]')
      return named ? [] : [harmless('it names none: the batch is halved until one is left', question)]
    }),
  },
  {
    name: 'upload of tags',
    specified: '200 with the stored tags',
    after: registerKey,
    key: 'write/tag',
    operation: operations.uploadTagsOf,
    body: () => [tag],
    judge: expectStatus(stored),
  },
  {
    name: 'the same tag again',
    specified: 'an update: one tag',
    after: 'write/tag',
    key: 'write/tag-again',
    operation: operations.uploadTagsOf,
    body: () => [tag],
    judge: expectStatus(stored),
  },
  {
    name: 'tags that were sent twice',
    specified: 'the tag once',
    after: 'write/tag-again',
    key: 'write/tags-read',
    operation: operations.tagsOf,
    judge: expectStatus([200], 'harmful', ({ body, question }) =>
      Array.isArray(body) && new Set(body.map((tag) => JSON.stringify(tag))).size === 1
        ? []
        : [harmful('not once: a push that is repeated adds tags', question)],
    ),
  },
  {
    name: 'replacement of demographics',
    specified: '200 with the result',
    after: profileTokenKey('throw-away'),
    key: 'write/demographics',
    operation: operations.replaceDemographic,
    body: () => ({ age: 40, country: 'NZ' }),
    judge: expectStatus(stored),
  },
  {
    name: 'update of demographics',
    specified: '200; an absent field stays, null clears',
    after: 'write/demographics',
    key: 'write/demographics-patch',
    operation: operations.updateDemographic,
    body: () => ({ country: null }),
    judge: expectStatus(stored, 'harmful', ({ body, question }) => {
      if (!isJsonObject(body)) return []
      const isPatched = Number(body['age']) === 40 && body['country'] == null
      return isPatched ? [] : [harmful('an absent field does not stay, or null does not clear', question)]
    }),
  },
  {
    name: 'refresh of a profile token',
    specified: '200 with a new profile token and a new refresh token',
    after: 'write/demographics-patch',
    key: 'write/refresh',
    operation: operations.refreshToken,
    body: ({ refreshToken }) => ({ refreshToken }),
    judge: expectFields([200, 201], profileTokenRule, 'harmless'),
  },
]

const deleteKey = 'write/delete'

const pointOf = ({ name, specified, after, judge, ...question }: Step): ContractPoint => ({
  ...onePoint({ name: `write: ${name}`, specified }, question, judge),
  asks(seen) {
    const before = after === '' ? undefined : seen.answer(after)
    return after === '' || (before && isOk(before)) ? [{ ...question, person: 'throw-away' }] : []
  },
})

const mayBeThere = (seen: Seen) => {
  const registered = seen.answer(registerKey)
  // A registration without an answer may have been carried out.
  return registered !== undefined && (registered.status === undefined || isOk(registered) || registered.status >= 500)
}

const erasure: ContractPoint = {
  name: 'write: erasure',
  specified: '204, and the profile is not there any more (404)',
  requestsMax: 2,
  undoes: (seen) =>
    mayBeThere(seen)
      ? [
          {
            key: deleteKey,
            operation: operations.deleteProfiles,
            person: 'throw-away',
            body: ({ externalId }) => ({ externalIds: [externalId] }),
          },
          { key: 'write/deleted', operation: operations.profile, person: 'throw-away' },
        ]
      : [],
  judge(seen) {
    const [erased, asked] = [seen.answer(deleteKey), seen.answer('write/deleted')]
    if (erased === undefined || asked === undefined) return undefined
    if (!isOk(erased))
      return [harmful(`it answers ${endOf(erased)}: the profile that was registered is still there`, erased.question)]
    return asked.status === 404 || asked.status === 410
      ? []
      : [harmful(`it is still there: it answers ${endOf(asked)}`, asked.question)]
  },
}

/** Only with `--write`: they register a profile, write to it, and delete it. */
export const writePoints: readonly ContractPoint[] = [...steps.map(pointOf), erasure]
