import { archetypeReadingSchema } from '../src/contract/archetype.ts'
import { biomarkerReadingSchema } from '../src/contract/biomarker.ts'
import { comparisonReadingSchema } from '../src/contract/comparison.ts'
import { demographicReadingSchema } from '../src/contract/demographic.ts'
import { deviceInformationReadingSchema } from '../src/contract/device-information.ts'
import { operations } from '../src/contract/operations.ts'
import { quickChecks } from '../src/contract/quick-check.ts'
import { scoreReadingSchema } from '../src/contract/score.ts'
import { tagReadingSchema } from '../src/contract/tag.ts'
import { trendReadingSchema } from '../src/contract/trend.ts'
import type { PulledStream } from '../src/stream.ts'
import { DAY, HOUR, type Window } from '../src/window.ts'

/**
 * The catalogue of streams that are pulled. A new stream is one entry here, one table and its view in a migration, and
 * one fixture: nothing else names the streams. `test/promises/a-new-stream.test.ts` adds one.
 *
 * Windows are as long as an answer stays small. Settle times are how long upstream goes on revising a day by itself,
 * for logs that reach it late by ways other than ours: phones that were off, watches that were not near their phone.
 */
const STILL_REVISED = 72 * HOUR

/** A log changes its own day, what is averaged over the days after it, and the weeks and months that hold it. */
const byDay = {
  'data-logs': { beforeMs: 2 * DAY, afterMs: 61 * DAY },
  demographics: { beforeMs: 60 * DAY, afterMs: 0 },
}
const byWeek = {
  'data-logs': { beforeMs: 35 * DAY, afterMs: 61 * DAY },
  demographics: { beforeMs: 60 * DAY, afterMs: 0 },
}

const byWindow = ({ startAt, endAt }: Window) => ({ startDateTime: startAt, endDateTime: endAt })

const instant = (name: string, from: string) => ({ name, type: 'instant', from: [from], key: true }) as const
const key = (name: string, absent?: string) =>
  ({ name, type: 'text', from: [name], key: true, ...(absent === undefined ? {} : { absent }) }) as const
const text = (name: string, from: string = name) => ({ name, type: 'text', from: [from] }) as const
const number = (name: string, ...from: string[]) =>
  ({ name, type: 'number', from: from.length > 0 ? from : [name] }) as const
const boolean = (name: string, from: string) => ({ name, type: 'boolean', from: [from] }) as const

export const streams = [
  {
    name: 'scores',
    kind: 'windowed',
    operation: operations.scoresOf,
    query: byWindow,
    schema: scoreReadingSchema,
    quickCheck: quickChecks.scores,
    table: 'scores',
    windowMs: 35 * DAY,
    settleMs: STILL_REVISED,
    touchedBy: byDay,
    startColumn: 'score_date_time',
    columns: [
      { name: 'score_date_time', type: 'instant', from: ['scoreDateTime', 'createdAt', 'createdAtUtc'], key: true },
      key('type'),
      number('value', 'value', 'score'),
      text('state'),
      { name: 'created_at', type: 'instant', from: ['createdAt', 'createdAtUtc'] },
    ],
  },
  {
    name: 'biomarkers',
    kind: 'windowed',
    operation: operations.biomarkersOf,
    query: byWindow,
    schema: biomarkerReadingSchema,
    quickCheck: quickChecks.biomarkers,
    table: 'biomarkers',
    windowMs: 35 * DAY,
    longestMs: 8 * DAY,
    settleMs: STILL_REVISED,
    touchedBy: byDay,
    startColumn: 'start_date_time',
    endColumn: 'end_date_time',
    columns: [
      instant('start_date_time', 'startDateTime'),
      key('type'),
      key('category', ''),
      key('periodicity', ''),
      key('aggregation', ''),
      instant('end_date_time', 'endDateTime'),
      text('value'),
      text('unit'),
      text('value_type', 'valueType'),
    ],
  },
  {
    name: 'archetypes',
    kind: 'windowed',
    operation: operations.archetypesOf,
    query: byWindow,
    schema: archetypeReadingSchema,
    quickCheck: quickChecks.archetypes,
    table: 'archetypes',
    windowMs: 92 * DAY,
    longestMs: 32 * DAY,
    settleMs: STILL_REVISED,
    touchedBy: byWeek,
    startColumn: 'start_date_time',
    endColumn: 'end_date_time',
    columns: [
      instant('start_date_time', 'startDateTime'),
      key('name'),
      key('periodicity', ''),
      instant('end_date_time', 'endDateTime'),
      text('value'),
      text('data_type', 'dataType'),
      number('ordinality'),
    ],
  },
  {
    name: 'trends',
    kind: 'windowed',
    operation: operations.trendsOf,
    query: byWindow,
    schema: trendReadingSchema,
    quickCheck: quickChecks.trends,
    table: 'trends',
    windowMs: 92 * DAY,
    longestMs: 32 * DAY,
    settleMs: STILL_REVISED,
    touchedBy: byWeek,
    startColumn: 'trend_start_date_time',
    endColumn: 'trend_end_date_time',
    columns: [
      instant('trend_start_date_time', 'trendStartDateTime'),
      key('name'),
      key('category', ''),
      key('periodicity', ''),
      instant('trend_end_date_time', 'trendEndDateTime'),
      text('state'),
      boolean('is_higher_better', 'isHigherBetter'),
      text('unit'),
    ],
  },
  {
    name: 'comparisons',
    kind: 'windowed',
    operation: operations.comparisonsOf,
    query: byWindow,
    schema: comparisonReadingSchema,
    quickCheck: quickChecks.comparisons,
    table: 'comparisons',
    windowMs: 35 * DAY,
    longestMs: 8 * DAY,
    settleMs: STILL_REVISED,
    touchedBy: byDay,
    startColumn: 'start_date_time',
    endColumn: 'end_date_time',
    columns: [
      instant('start_date_time', 'startDateTime'),
      key('name'),
      key('category', ''),
      key('periodicity', ''),
      instant('end_date_time', 'endDateTime'),
      number('value'),
      text('unit'),
      boolean('is_higher_better', 'isHigherBetter'),
    ],
  },
  {
    name: 'tags',
    kind: 'windowed',
    operation: operations.tagsOf,
    query: byWindow,
    schema: tagReadingSchema,
    quickCheck: quickChecks.tags,
    table: 'tags',
    windowMs: 92 * DAY,
    longestMs: 366 * DAY,
    settleMs: STILL_REVISED,
    touchedBy: { tags: { beforeMs: 0, afterMs: 1 } },
    startColumn: 'start_date_time',
    endColumn: 'end_date_time',
    columns: [
      instant('start_date_time', 'startDateTime'),
      key('type'),
      key('name'),
      key('source', ''),
      { name: 'end_date_time', type: 'instant', from: ['endDateTime'] },
      text('category'),
      text('value'),
    ],
  },
  {
    name: 'demographics',
    kind: 'snapshot',
    operation: operations.demographic,
    schema: demographicReadingSchema,
    table: 'demographics',
    windowMs: Number.MAX_SAFE_INTEGER,
    settleMs: 0,
    touchedBy: { demographics: { beforeMs: 0, afterMs: 1 } },
    columns: [number('age'), text('gender'), text('birth_date', 'birthDate'), text('country')],
  },
  {
    name: 'device-information',
    kind: 'snapshot',
    operation: operations.deviceInformation,
    schema: deviceInformationReadingSchema,
    table: 'device_information',
    windowMs: Number.MAX_SAFE_INTEGER,
    settleMs: 0,
    touchedBy: { 'device-information': { beforeMs: 0, afterMs: 1 } },
    columns: [
      text('device_type', 'deviceType'),
      text('device_model', 'deviceModel'),
      text('system'),
      text('system_version', 'systemVersion'),
      text('time_zone', 'timeZone'),
    ],
  },
] as const satisfies readonly PulledStream[]
