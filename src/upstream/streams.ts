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
}

/** A new stream is one entry here, and one in quick-check.ts. */
export const streams: Readonly<Record<StreamName, Stream>> = {
  scores: { operation: 'scoresOf', own: 'scores', schema: scoreReadingSchema },
  biomarkers: { operation: 'biomarkersOf', own: 'biomarkers', schema: biomarkerReadingSchema },
  archetypes: { operation: 'archetypesOf', own: 'archetypes', schema: archetypeReadingSchema },
  trends: { operation: 'trendsOf', own: 'trends', schema: trendReadingSchema },
  comparisons: { operation: 'comparisonsOf', own: 'comparisons', schema: comparisonReadingSchema },
  tags: { operation: 'tagsOf', own: 'tags', schema: tagReadingSchema },
  demographics: { operation: 'demographic', own: 'demographic', schema: demographicReadingSchema },
  'device-information': {
    operation: 'deviceInformation',
    own: 'deviceInformation',
    schema: deviceInformationReadingSchema,
  },
}
