import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'
import { type ErrorBody, errorOriginOf } from '../../base/contract/error-body.ts'

type FieldError = { origin: string; errors: string[] }

/** An error response. It carries no value but those that the caller sent. */
export class RequestError extends Error {
  readonly status: number
  readonly body: ErrorBody
  readonly headers: Record<string, string>

  constructor(options: {
    status: number
    /** The part of the request at fault. */
    location?: 'body' | 'query' | 'path' | 'header' | 'route' | 'request' | 'service'
    errors?: FieldError[]
    headers?: Record<string, string>
  }) {
    const title = STATUS_CODES[options.status] ?? 'Error'
    super(title)
    this.name = 'RequestError'
    this.status = options.status
    this.headers = options.headers ?? {}
    this.body = {
      title,
      statusCode: options.status,
      location: options.location ?? 'request',
      errors: options.errors ?? [],
    }
  }
}

export function badRequest(
  location: 'body' | 'query' | 'path' | 'header' | 'request',
  errors: FieldError[],
): RequestError {
  return new RequestError({ status: 400, location, errors })
}

/** One text for every way in which a token can be wrong, so that a caller does not learn which it was. */
export function unauthorized(): RequestError {
  return new RequestError({
    status: 401,
    location: 'header',
    errors: [
      { origin: 'Authorization', errors: ['is missing, unknown, expired, or not of the kind this route takes'] },
    ],
    headers: { 'www-authenticate': 'account, profile' },
  })
}

export function unknownProfile(): RequestError {
  const errors = [{ origin: 'externalId', errors: ['is not known'] }]
  return new RequestError({ status: 404, location: 'path', errors })
}

export function unavailable(reason: string): RequestError {
  const errors = [{ origin: '', errors: [reason] }]
  return new RequestError({ status: 503, location: 'service', errors, headers: { 'retry-after': '5' } })
}

/** Too much of one caller, not of the service: others are served meanwhile. */
export function tooManyRequests(reason: string, waitSeconds: number): RequestError {
  const errors = [{ origin: '', errors: [reason] }]
  const headers = { 'retry-after': String(Math.max(1, waitSeconds)) }
  return new RequestError({ status: 429, location: 'service', errors, headers })
}

const fieldErrorsMax = 100

/** Every field at fault once, by its path, with all of its errors. */
export function fieldErrorsOf(error: z.ZodError): FieldError[] {
  const errorsByOrigin = new Map<string, string[]>()
  for (const issue of error.issues.flatMap(deepestIssues)) {
    const origin = errorOriginOf(issue.path)
    const errors = errorsByOrigin.get(origin) ?? []
    if (!errors.includes(issue.message)) errors.push(issue.message)
    errorsByOrigin.set(origin, errors)
  }
  return [...errorsByOrigin].slice(0, fieldErrorsMax).map(([origin, errors]) => ({ origin, errors }))
}

/** For a union: the issues inside the variant whose outer shape matched, because they say more than "no variant fits". */
function deepestIssues(issue: z.core.$ZodIssue): Array<{ path: PropertyKey[]; message: string }> {
  if (issue.code !== 'invalid_union') return [issue]
  const matched = issue.errors.find((issues) => issues.length > 0 && issues.every((inner) => inner.path.length > 0))
  if (!matched) return [issue]
  return matched.flatMap(deepestIssues).map(({ path, message }) => ({ path: [...issue.path, ...path], message }))
}
