import type { Operation, OperationName } from '../../base/contract/operations.ts'

/** Where an answer's meaning is: in the JSON of its body, in its status alone, or in the tagged answer that has not changed since. */
export type AnswerKind = 'json' | 'bare' | 'unchanged'

/** `json`: the body must be JSON of the operation's shape. `bare`: the status says it all, and no body is looked at. */
type AnswerRule = { readonly json: readonly number[]; readonly bare: readonly number[] }

/** 204 is upstream's way to say that there is nothing. */
const reading: AnswerRule = { json: [200], bare: [204] }
const oneThing: AnswerRule = { json: [200, 201], bare: [] }
/** 202 and 204 are no answers of a proxy or a sign-in page: a service that sends them has accepted the items. */
const pushing: AnswerRule = { json: [200, 201], bare: [202, 204] }
const erasing: AnswerRule = { json: [200], bare: [204] }

const rulesByName: Partial<Record<OperationName, AnswerRule>> = {
  accountToken: oneThing,
  register: oneThing,
  registerByApp: oneThing,
  profileToken: oneThing,
  refreshToken: oneThing,
  profile: { json: [200], bare: [] },
  deleteProfiles: erasing,
}

/**
 * The meaning of a status as the answer of an operation. Undefined: nothing at all, though it is neither a refusal nor a fault. An
 * answer that says nothing is never taken for "nothing there", nor for a yes.
 */
export function answerKindOf(
  { operation: { name, method }, heldTag }: { readonly operation: Operation; readonly heldTag?: string | undefined },
  status: number,
): AnswerKind | undefined {
  if (status === 304 && heldTag !== undefined) return 'unchanged'
  const named: AnswerRule | undefined = rulesByName[name as OperationName] // a stream may bring an operation of its own
  const rule = named ?? (method === 'GET' ? reading : pushing)
  if (rule.json.includes(status)) return 'json'
  return rule.bare.includes(status) ? 'bare' : undefined
}

/** Keys that only the bodies of errors have. */
const errorKeys = new Set(
  'title statusCode status location errors error message detail details type instance traceId code path timestamp'.split(
    ' ',
  ),
)

/** Whether an object is the body of an error, whatever the status that it came with. */
export function isErrorBody(value: object): boolean {
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => errorKeys.has(key))
}
