/** The pulled streams, as config/streams.ts has them: a test compares the two. */
export const streamNames = [
  'scores',
  'biomarkers',
  'archetypes',
  'trends',
  'comparisons',
  'tags',
  'demographics',
  'device-information',
] as const
