import { z } from 'zod'
import { openApiOf } from '../../reference/openapi.ts'
import { type ConsoleContext, consoleRead } from './console-context.ts'
import { describeReference } from './describe-operations.ts'

export type ReferenceAnswer = ReturnType<typeof describeReference>

/** Described when it is first asked for, from the document that /openapi.json serves. */
export const operationsRoutes = ({ routes }: ConsoleContext) => {
  let described: ReferenceAnswer | undefined
  return [
    consoleRead({
      name: 'reference',
      query: z.object({}),
      answer: async () => {
        described ??= describeReference(openApiOf(routes), routes)
        return described
      },
    }),
  ]
}
