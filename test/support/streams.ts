import { streams } from '../../config/streams.ts'
import type { PulledStream } from '../../src/stream.ts'

export type StreamName = (typeof streams)[number]['name']

export function streamOf(name: StreamName): PulledStream {
  const stream = streams.find((one) => one.name === name)
  if (!stream) throw new Error(`there is no stream ${name}`)
  return stream
}

export const scores = streamOf('scores')
export const biomarkers = streamOf('biomarkers')
export const demographics = streamOf('demographics')
