import { type SpanContext, TraceFlags } from '@opentelemetry/api'
import type { OtlpSettings } from './otlp-settings.ts'

/** The random digits of a trace id that decide, and how many values they have: all that a number holds exactly. */
const DECIDING_DIGITS = 13
const VALUES = 16 ** DECIDING_DIGITS

type IsSampled = (traceId: string, parent: SpanContext | undefined) => boolean

/** By the standard's variables: whether a trace is recorded. Processes with the same share choose the same traces. */
export function createSampler({ sampler, tracesShare }: OtlpSettings): IsSampled {
  const share = sampler.endsWith('always_on') ? 1 : sampler.endsWith('always_off') ? 0 : tracesShare
  const atLeast = Math.round((1 - share) * VALUES)
  const byId = (traceId: string) => Number.parseInt(traceId.slice(-DECIDING_DIGITS), 16) >= atLeast
  if (!sampler.startsWith('parentbased_')) return byId
  return (traceId, parent) => (parent ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0 : byId(traceId))
}
