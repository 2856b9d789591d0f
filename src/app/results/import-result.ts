import { z } from 'zod'
import { count } from './result-fields.ts'

/** The result of an import of NDJSON or CSV. */
export const entriesImportResult = z.strictObject({
  kind: z.string(),
  resumedAtLine: count,
  read: count,
  accepted: count,
  duplicate: count,
  rejected: count,
  addedProfiles: count,
  rejects: z.string().nullable(),
  finished: z.boolean(),
  strangeTypes: z.array(z.strictObject({ type: z.string(), closest: z.string().nullable(), lines: count })),
})

const reasons = z.array(z.strictObject({ reason: z.string(), records: count }))
const localDay = z.string().nullable()

/** The result of an import of a health export. */
export const healthImportResult = z.strictObject({
  externalId: z.string(),
  dryRun: z.boolean(),
  finished: z.boolean(),
  resumedAfter: count,
  accepted: count,
  duplicate: count,
  addedProfiles: count,
  rejects: z.string().nullable(),
  files: z.array(
    z.strictObject({
      file: z.string(),
      format: z.string(),
      read: count,
      mapped: count,
      logs: count,
      accepted: count,
      duplicate: count,
      before: count,
      rejected: reasons,
      leftOut: reasons,
      firstDay: localDay,
      lastDay: localDay,
      devices: z.array(z.string()),
    }),
  ),
  unread: z.array(
    z.strictObject({
      reason: z.string(),
      isLeftOut: z.boolean(),
      files: count,
      file: z.string(),
      columns: z.array(z.string()),
    }),
  ),
})

export type HealthImportResult = z.output<typeof healthImportResult>
