import { z } from 'zod'
import { callerWords, curlOf, type Example, recordedExamples } from '../../reference/examples.ts'
import type { ServiceRoute } from '../../http/service-route.ts'
import { type OpenApi, type OpenApiOperation, openApiOf } from '../../reference/openapi.ts'
import { fieldsOf, noteOf, type Schema, shapeWords, typeWords } from '../../reference/plain-types.ts'
import { type ReferenceEntry, sectionsOf } from '../../reference/sections.ts'
import { type ConsoleContext, defineRead } from './console-context.ts'

/** The reference as the console shows it: the OpenAPI document in plain words, by task. */
function describeReference(document: OpenApi, routes: readonly ServiceRoute[]) {
  const byName = new Map(routes.map((route) => [route.name, route]))
  return {
    sections: sectionsOf(document).map(({ title, about, entries }) => ({
      title,
      about,
      operations: entries.map((entry) => describeOperation(entry, byName.get(entry.operation.operationId))),
    })),
    error: exampleShown(recordedExamples['error']),
  }
}

export type DescribedOperation = ReturnType<typeof describeOperation>

function describeOperation({ path, method, operation }: ReferenceEntry, route: ServiceRoute | undefined) {
  const example = recordedExamples[operation.operationId]
  return {
    name: operation.operationId,
    method,
    path,
    summary: operation.summary,
    caller: route?.caller ?? 'anyone',
    callerWords: callerWords(operation),
    parameters: (operation.parameters ?? []).map((parameter) => describeParameter(parameter, route?.words ?? {})),
    body: describeBody(operation, example),
    answers: Object.entries(operation.responses)
      .filter(([status]) => Number(status) < 400)
      .map(([status, { description, content }]) => ({
        status: Number(status),
        about: description,
        ...describeShape(content?.['application/json'].schema as Schema | undefined), // openApiOf makes it of a zod schema
      })),
    errors: Object.entries(operation.responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, { description }]) => ({ status: Number(status), about: description })),
    example: exampleShown(example),
  }
}

type Parameter = NonNullable<OpenApiOperation['parameters']>[number]

function describeParameter(
  { name, in: location, required, description, schema: given }: Parameter,
  words: Readonly<Record<string, readonly string[]>>,
) {
  const schema = given as Schema // openApiOf makes it of a zod schema
  const isList = schema.type === 'array'
  const choices = words[name] ?? (schema.items?.enum ?? schema.enum ?? []).map(String)
  const type = typeWords(schema)
  return { name, location, required, type, note: description ?? noteOf(schema), isList, choices }
}

function describeBody({ requestBody }: OpenApiOperation, example: Example | undefined) {
  if (!requestBody) return null
  const schema = requestBody.content['application/json'].schema as Schema // as above
  return {
    required: requestBody.required,
    ...describeShape(schema),
    inputs: inputsOf(schema),
    example: example?.request.body ?? null,
  }
}

const describeShape = (schema: Schema | undefined) =>
  schema ? { shape: shapeOf(schema), fields: fieldsOf(schema) } : { shape: '', fields: [] }

const shapeOf = (schema: Schema) => (fieldsOf(schema).length === 0 ? typeWords(schema) : shapeWords(schema))

/** The fields of a flat body, one input for each; null: the body is written as JSON. */
function inputsOf(schema: Schema) {
  if (schema.type !== 'object' || !schema.properties) return null
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    type: typeWords(property),
    note: noteOf(property),
    required: schema.required?.includes(name) === true,
    value: kindOf(property),
    choices: (property.enum ?? []).map(String),
  }))
}

/** How the text of an input becomes a value of JSON. */
function kindOf(schema: Schema): 'text' | 'number' | 'switch' {
  const types = [schema, ...(schema.anyOf ?? []), ...(schema.anyOf ?? []).flatMap(({ anyOf = [] }) => anyOf)]
    .flatMap(({ type }) => type ?? [])
    .filter((type) => type !== 'null')
  if (types[0] === 'boolean') return 'switch'
  return types[0] === 'integer' || types[0] === 'number' ? 'number' : 'text'
}

function exampleShown(example: Example | undefined) {
  if (!example) return null
  const { status, body } = example.answer
  return {
    curl: curlOf(example),
    path: example.request.path,
    status,
    answer: body === undefined ? '' : JSON.stringify(body, null, 2),
  }
}

export type ReferenceAnswer = ReturnType<typeof describeReference>

/** Described when it is first asked for, from the document that /openapi.json serves. */
export const operationsRoutes = ({ routes }: ConsoleContext) => {
  let described: ReferenceAnswer | undefined
  return [
    defineRead({
      name: 'reference',
      query: z.object({}),
      answer: async () => {
        described ??= describeReference(openApiOf(routes), routes)
        return described
      },
    }),
  ]
}
