import type { Json } from '../../../web/browser/ask.ts'
import type { DescribedOperation } from '../routes/operations-routes.ts'

export type ShownOperation = Json<DescribedOperation>
export type Parameter = ShownOperation['parameters'][number]
type Body = NonNullable<ShownOperation['body']>

/** The texts of the inputs: of parameters by name, of a flat body's fields by `body.<name>`, of another body by `body`. */
export type Filled = Readonly<Record<string, string>>

export type ComposedRequest = {
  readonly method: string
  /** With its query; without the address of the service. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** undefined: none. */
  readonly body: string | undefined
}

/** Fields whose values are hidden while they are typed, and left out of every text that is copied. */
export const isSecret = (name: string): boolean => /secret|token/i.test(name)

/** Throws an Error whose message says which field does not fit. */
export function composeRequest(operation: ShownOperation, filled: Filled): ComposedRequest {
  const query = new URLSearchParams()
  const headers: Record<string, string> = {}
  let path = operation.path
  for (const { name, location, required } of operation.parameters) {
    const text = filled[name] ?? ''
    if (text === '' && required) throw new Error(`${name} is missing.`)
    if (location === 'path') path = path.replace(`{${name}}`, encodeURIComponent(text))
    else if (text === '') continue
    else if (location === 'query') query.set(name, text)
    else headers[name] = text
  }
  const body = operation.body && bodyText(operation.body, filled)
  // Lists keep their commas, which URLSearchParams would write as %2C.
  const asked = query.toString().replaceAll('%2C', ',').replaceAll('%3A', ':')
  return {
    method: operation.method,
    path: asked === '' ? path : `${path}?${asked}`,
    headers: body === undefined || body === null ? headers : { ...headers, 'content-type': 'application/json' },
    body: body ?? undefined,
  }
}

function bodyText(body: Body, filled: Filled): string | undefined {
  const isByField = body.inputs !== null && filled['body'] === undefined
  const text = isByField ? JSON.stringify(flatBody(body.inputs ?? [], filled), null, 2) : (filled['body'] ?? '').trim()
  if (text === '' || (text === '{}' && isByField && !body.required)) {
    if (body.required) throw new Error('The body is missing.')
    return undefined
  }
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch (error) {
    throw new Error(`The body is not JSON: ${error instanceof Error ? error.message : ''}`)
  }
}

type Input = NonNullable<Body['inputs']>[number]

function flatBody(inputs: readonly Input[], filled: Filled): Record<string, unknown> {
  const values = inputs.flatMap(({ name, value, required }): Array<[string, unknown]> => {
    const text = filled[`body.${name}`] ?? ''
    if (text === '' && required) throw new Error(`${name} is missing.`)
    return text === '' ? [] : [[name, typedValue(value, text)]]
  })
  return Object.fromEntries(values)
}

function typedValue(kind: Input['value'], text: string): unknown {
  if (kind === 'switch') return text === 'true'
  return kind === 'number' && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
}
