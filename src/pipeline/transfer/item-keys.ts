import { namedUuid } from '../../base/text/digest.ts'
import type { Fields, ItemOrigin, PushedList } from './stream.ts'

type Identify = PushedList['identify']

/** The namespace of the ids that logs without an id are given. */
const LOG_ID_NAMESPACE = '8d0f3c1e-5a52-4f0b-9a35-1f1f3f0c7a11'

/**
 * A log is known by its id. A log without an id is given one: the same measurement, read from another file or read again,
 * gets the same id, and upstream knows it by this id.
 */
export const identifyLog: Identify = (body, origin) => {
  const { id } = body
  const itemKey = typeof id === 'string' ? id.toLowerCase() : namedUuid(LOG_ID_NAMESPACE, measurementOf(body, origin))
  return { itemKey, body: { ...body, id: itemKey } }
}

function measurementOf(body: Fields, { externalId, startAtMs, endAtMs }: ItemOrigin): string[] {
  return [externalId, body['logType'], body['dataType'], body['source'], startAtMs, endAtMs].map(String)
}

/** A tag is known by its type, name, source and start. */
export const identifyTag: Identify = (body, { startAtMs }) => {
  const { type, name, source } = body
  return { itemKey: JSON.stringify([type, name, source, startAtMs]), body }
}
