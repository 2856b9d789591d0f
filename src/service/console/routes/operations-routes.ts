import { z } from 'zod'
import { fieldsOf, noteOf, type Schema, shapeWords, typeWords } from '../../../base/text/plain-types.ts'
import type { ServiceRoute } from '../../http/service-route.ts'
import { callerWords, recordedExamples } from '../../reference/examples.ts'
import { type OpenApi, type OpenApiOperation, openApiOf } from '../../reference/openapi.ts'
import { referenceParts } from '../../reference/reference-page.ts'
import { type ReferenceEntry, sectionsOf } from '../../reference/sections.ts'
import { type ConsoleContext, defineRead } from './console-context.ts'

/** The operations by task, as the query builder shows them: the OpenAPI document in plain words. */
function describeOperations(document: OpenApi, routes: readonly ServiceRoute[]) {
  const byName = new Map(routes.map((route) => [route.name, route]))
  return {
    sections: sectionsOf(document).map(({ title, entries }) => ({
      title,
      operations: entries.map((entry) => describeOperation(entry, byName.get(entry.operation.operationId))),
    })),
  }
}

export type DescribedOperation = ReturnType<typeof describeOperation>

function describeOperation({ path, method, operation }: ReferenceEntry, route: ServiceRoute | undefined) {
  const { operationId: name, summary, parameters = [] } = operation
  return {
    name,
    method,
    path,
    summary,
    caller: route?.caller ?? 'anyone',
    callerWords: callerWords(operation),
    parameters: parameters.map((parameter) => describeParameter(parameter, route?.words ?? {})),
    body: describeBody(operation, recordedExamples[name]?.request.body),
  }
}

function describeParameter(
  { name, in: location, required, description, schema: given }: NonNullable<OpenApiOperation['parameters']>[number],
  words: Readonly<Record<string, readonly string[]>>,
) {
  const schema = given as Schema // openApiOf makes it of a zod schema
  const isList = schema.type === 'array'
  const choices = words[name] ?? (schema.items?.enum ?? schema.enum ?? []).map(String)
  const type = typeWords(schema)
  return { name, location, required, type, note: description ?? noteOf(schema), isList, choices }
}

function describeBody({ requestBody }: OpenApiOperation, example: unknown = null) {
  if (!requestBody) return null
  const schema = requestBody.content['application/json'].schema as Schema // as above
  const fields = fieldsOf(schema)
  const shape = fields.length === 0 ? typeWords(schema) : shapeWords(schema)
  return { required: requestBody.required, shape, fields, inputs: inputsOf(schema), example }
}

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

export type OperationsAnswer = ReturnType<typeof describeOperations>
export type ReferenceAnswer = ReturnType<typeof referenceParts>

/** Described when it is first asked for, from the document that /openapi.json serves. */
export const operationsRoutes = ({ routes }: ConsoleContext) => {
  let document: OpenApi | undefined
  const described = () => {
    document ??= openApiOf(routes)
    return document
  }
  const query = z.object({})
  return [
    defineRead({ name: 'operations', query, answer: async () => describeOperations(described(), routes) }),
    defineRead({ name: 'reference', query, answer: async () => referenceParts(described(), routes) }),
  ]
}
