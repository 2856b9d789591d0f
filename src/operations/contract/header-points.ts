import { DERIVATION_STATE_HEADER } from '../../base/contract/derivation-state.ts'
import { type ContractPoint, type Exchange, endOf, harmful, harmless, recordsOf, type Seen } from './contract-point.ts'

/** The first answer with derived records: its headers are looked at. */
const derivedAnswer = (seen: Seen): Exchange | undefined =>
  seen
    .answers()
    .find(
      (answer) =>
        /^(scores|biomarkers|comparisons|trends)\/whole\//.test(answer.question.key) && recordsOf(answer).length > 0,
    )

function headerPoint(
  point: Pick<ContractPoint, 'name' | 'specified' | 'setting'>,
  says: string,
  isThere: (answer: Exchange) => boolean,
): ContractPoint {
  return {
    ...point,
    judge(seen) {
      const answer = derivedAnswer(seen)
      if (answer === undefined) return undefined
      return isThere(answer) ? [] : [harmless(says, answer.question)]
    },
  }
}

/** Below this size nobody packs. */
const PACKED_FROM_BYTES = 2048

export const headerPoints: readonly ContractPoint[] = [
  headerPoint(
    { name: 'ETag', specified: 'a strong tag with each answer of derived records' },
    'none: each window is sent whole, every time',
    ({ headers }) => /^"[^"]+"$/.test(headers['etag'] ?? ''),
  ),
  {
    name: 'conditional reads',
    specified: '304 to a read that names the tag of the present answer',
    requestsMax: 1,
    asks(seen) {
      const answer = derivedAnswer(seen)
      const tag = answer?.headers['etag']
      if (answer === undefined || tag === undefined) return []
      return [{ ...answer.question, key: 'conditional', headers: { 'if-none-match': tag } }]
    },
    judge(seen) {
      const [answer, first] = [seen.answer('conditional'), derivedAnswer(seen)]
      if (answer === undefined || first === undefined) return undefined
      if (answer.status === 304) return []
      if (answer.status !== 200) return [harmful(`it answers ${endOf(answer)}`, answer.question)]
      // The records were derived again in between: the tag is another.
      if (answer.headers['etag'] !== first.headers['etag']) return undefined
      return [harmless('200 with the same tag', answer.question)]
    },
  },
  headerPoint(
    {
      name: 'derivation-state',
      specified: 'whether an answer is complete, with each answer of derived records',
      setting: 'REREAD_SECONDS: when a window is read again after a push',
    },
    'none: a window counts as derived when two readings agree',
    ({ headers }) => DERIVATION_STATE_HEADER in headers,
  ),
  headerPoint(
    { name: 'request ids', specified: 'x-request-id with each answer' },
    'none: its operators cannot find a failed request by ours',
    ({ headers }) => 'x-request-id' in headers,
  ),
  {
    name: 'compression',
    specified: 'gzip where it is asked for',
    judge(seen) {
      const large = seen.answers().find((answer) => answer.status === 200 && answer.bytes > PACKED_FROM_BYTES)
      if (large === undefined) return undefined
      return 'content-encoding' in large.headers
        ? []
        : [harmless('none: answers take several times the bytes', large.question)]
    },
  },
  {
    name: 'content type',
    specified: 'application/json in UTF-8',
    judge(seen) {
      const answers = seen.answers().filter(({ status, bytes }) => status === 200 && bytes > 0)
      if (answers.length === 0) return undefined
      const other = answers.find(({ headers }) => !/^application\/(\w+\+)?json\b/i.test(headers['content-type'] ?? ''))
      const charset = answers.find(({ headers }) => /charset=(?!"?utf-?8)/i.test(headers['content-type'] ?? ''))
      return [
        ...(other ? [harmless('another, or none: bodies are read as JSON all the same', other.question)] : []),
        ...(charset ? [harmful('another charset than UTF-8', charset.question)] : []),
      ]
    },
  },
]
