import { pulledStreams, pushedStreams } from '../../config/streams.ts'
import type { PulledStream, PushedList, PushedStream } from '../../src/pipeline/transfer/stream.ts'

export type StreamName = (typeof pulledStreams)[number]['name']

export function streamByName(name: StreamName): PulledStream {
  const stream = pulledStreams.find((pulledStream) => pulledStream.name === name)
  if (!stream) throw new Error(`there is no stream ${name}`)
  return stream
}

export const scores = streamByName('scores')
export const biomarkers = streamByName('biomarkers')
export const demographics = streamByName('demographics')

export function pushedByName(name: (typeof pushedStreams)[number]['name']): PushedStream {
  const stream = pushedStreams.find((pushedStream) => pushedStream.name === name)
  if (!stream) throw new Error(`there is no pushed stream ${name}`)
  return stream
}

export function listByName(name: 'data-logs' | 'tags'): PushedList {
  const stream = pushedByName(name)
  if (stream.kind !== 'list') throw new Error(`${name} is no list`)
  return stream
}

export const dataLogs = listByName('data-logs')
