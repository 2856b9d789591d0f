import { useAnswer } from '../../../web/browser/ask.ts'
import type { ReferenceAnswer } from '../routes/operations-routes.ts'
import type { ShownOperation } from './compose.ts'

/** The operations by task, as the service's own OpenAPI document has them. */
export const useReference = () => useAnswer<ReferenceAnswer>('reference')

type Sections = ReadonlyArray<{ readonly operations: readonly ShownOperation[] }>

export const operationOf = (sections: Sections, name: string): ShownOperation | undefined =>
  sections.flatMap(({ operations }) => operations).find((operation) => operation.name === name)

/** The tone of a status: 2xx and 3xx went well. */
export const toneOfStatus = (status: number): string => (status >= 500 ? 'bad' : status >= 400 ? 'odd' : 'well')
