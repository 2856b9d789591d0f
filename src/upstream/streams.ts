import type { z } from 'zod'
import { archetypeReadingSchema } from '../contract/archetype.ts'
import { biomarkerReadingSchema } from '../contract/biomarker.ts'
import { comparisonReadingSchema } from '../contract/comparison.ts'
import { demographicReadingSchema } from '../contract/demographic.ts'
import { deviceInformationReadingSchema } from '../contract/device-information.ts'
import type { OperationName } from '../contract/operations.ts'
import { scoreReadingSchema } from '../contract/score.ts'
import { tagReadingSchema } from '../contract/tag.ts'
import { trendReadingSchema } from '../contract/trend.ts'
import { type QuickCheck, quickCheck } from './quick-check.ts'

/** The streams that are read by window, and those that are one object as it is now. */
export const windowedStreams = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags'] as const
export const snapshotStreams = ['demographics', 'device-information'] as const
export type WindowedStream = (typeof windowedStreams)[number]
export type SnapshotStream = (typeof snapshotStreams)[number]
export type StreamName = WindowedStream | SnapshotStream

export type Stream = {
  /** By account token and externalId, where there is such a form. */
  readonly operation: OperationName
  /** The same by the profile's own token. */
  readonly own: OperationName
  readonly schema: z.ZodType
  /** Says yes at once to most of what the schema accepts, and to nothing else. */
  readonly quick: QuickCheck
}

const period = { startDateTime: 'instant', endDateTime: 'instant' } as const

/** A new stream is one entry here. */
export const streams: Readonly<Record<StreamName, Stream>> = {
  scores: {
    operation: 'scoresOf',
    own: 'scores',
    schema: scoreReadingSchema,
    quick: quickCheck({
      type: 'name',
      scoreDateTime: 'instant',
      id: 'text?',
      value: 'number?',
      score: 'number?',
      state: 'text?',
      createdAt: 'instant?',
      createdAtUtc: 'instant?',
      factors: 'list?',
      dataSources: 'list?',
      version: 'number?',
    }),
  },
  biomarkers: {
    operation: 'biomarkersOf',
    own: 'biomarkers',
    schema: biomarkerReadingSchema,
    quick: quickCheck({
      type: 'name',
      ...period,
      id: 'text?',
      category: 'text?',
      periodicity: 'text?',
      aggregation: 'text?',
      value: 'text?',
      unit: 'text?',
      valueType: 'text?',
    }),
  },
  archetypes: {
    operation: 'archetypesOf',
    own: 'archetypes',
    schema: archetypeReadingSchema,
    quick: quickCheck({
      name: 'name',
      ...period,
      id: 'text?',
      value: 'text?',
      dataType: 'text?',
      ordinality: 'number?',
      periodicity: 'text?',
      version: 'number?',
    }),
  },
  trends: {
    operation: 'trendsOf',
    own: 'trends',
    schema: trendReadingSchema,
    quick: quickCheck({
      name: 'name',
      category: 'name',
      trendStartDateTime: 'instant',
      trendEndDateTime: 'instant',
      id: 'text?',
      state: 'text?',
      isHigherBetter: 'flag?',
      unit: 'text?',
      periodicity: 'text?',
      data: 'list?',
    }),
  },
  comparisons: {
    operation: 'comparisonsOf',
    own: 'comparisons',
    schema: comparisonReadingSchema,
    quick: quickCheck({
      name: 'name',
      category: 'name',
      ...period,
      id: 'text?',
      value: 'number?',
      unit: 'text?',
      isHigherBetter: 'flag?',
      periodicity: 'text?',
      data: 'list?',
    }),
  },
  tags: {
    operation: 'tagsOf',
    own: 'tags',
    schema: tagReadingSchema,
    quick: quickCheck({
      type: 'name',
      name: 'name',
      startDateTime: 'instant',
      id: 'text?',
      source: 'text?',
      category: 'text?',
      value: 'text?',
      endDateTime: 'instant?',
    }),
  },
  demographics: {
    operation: 'demographic',
    own: 'demographic',
    schema: demographicReadingSchema,
    quick: () => false,
  },
  'device-information': {
    operation: 'deviceInformation',
    own: 'deviceInformation',
    schema: deviceInformationReadingSchema,
    quick: () => false,
  },
}
