import { receivedArchetypeSchema } from '../src/base/contract/archetype.ts'
import { receivedBiomarkerSchema } from '../src/base/contract/biomarker.ts'
import { receivedComparisonSchema } from '../src/base/contract/comparison.ts'
import { dataLogInputSchema, receivedUploadSchema } from '../src/base/contract/data-log.ts'
import { strangeDataType } from '../src/base/contract/data-types.ts'
import { demographicInputSchema, receivedDemographicSchema } from '../src/base/contract/demographic.ts'
import {
  deviceInformationInputSchema,
  receivedDeviceInformationSchema,
} from '../src/base/contract/device-information.ts'
import { evidenceOfLog } from '../src/base/contract/log-evidence.ts'
import { operations } from '../src/base/contract/operations.ts'
import { quickChecks } from '../src/base/contract/quick-check.ts'
import { receivedScoreSchema } from '../src/base/contract/score.ts'
import { receivedTagSchema, tagInputSchema } from '../src/base/contract/tag.ts'
import { receivedTrendSchema } from '../src/base/contract/trend.ts'
import type { Span } from '../src/base/time/spans.ts'
import { DAY, HOUR } from '../src/base/time/units.ts'
import {
  type Catalogue,
  identifyLog,
  identifyTag,
  type PulledStream,
  type PushedStream,
} from '../src/pipeline/transfer/stream.ts'

/**
 * The catalogue of pulled streams. A new stream is one entry here, one table, its view and its row in `vitalsync.day_streams` in a migration, and one fixture:
 * beside these only the help names the streams (`src/app/cli/options.ts`, which the type check holds against this list). `test/promises/a-new-stream.test.ts` adds a stream.
 * A column that its records get later is an entry under `added`.
 *
 * A window is as long as its answer stays small. The settle time is how long upstream revises a day without a push, for
 * logs that reach it late and not through this program: from phones that were off, from watches far from their phone.
 */
const STILL_REVISED = 72 * HOUR

/**
 * Within how many days around a log upstream may derive something else from it: in the weeks and months that hold its day,
 * and in later days, because known facts of a person stay known. A height stays known for good. Age and gender change
 * everything. `test/config/reach.test.ts` holds these numbers against our service.
 */
const derivedFrom = (daysBefore: number, daysAfter: number) =>
  ({
    'data-logs': { beforeMs: daysBefore * DAY, afterMs: daysAfter * DAY },
    demographics: 'everything',
  }) as const

const byWindow = ({ startMs, endMs }: Span) => ({
  startDateTime: new Date(startMs).toISOString(),
  endDateTime: new Date(endMs).toISOString(),
})

/** The settings that all streams of windows have alike. */
const windowed = { kind: 'windowed', query: byWindow, settleMs: STILL_REVISED } as const

const instant = (name: string, from: string) => ({ name, type: 'instant', from: [from], key: true }) as const
const key = (name: string, absent?: string) =>
  ({ name, type: 'text', from: [name], key: true, ...(absent === undefined ? {} : { absent }) }) as const
const text = (name: string, from: string = name) => ({ name, type: 'text', from: [from] }) as const
const number = (name: string, ...from: string[]) =>
  ({ name, type: 'number', from: from.length > 0 ? from : [name] }) as const
const boolean = (name: string, from: string) => ({ name, type: 'boolean', from: [from] }) as const

export const pulledStreams = [
  {
    name: 'scores',
    ...windowed,
    operation: operations.scoresOf,
    schema: receivedScoreSchema,
    quickCheck: quickChecks.scores,
    table: 'scores',
    windowMs: 35 * DAY,
    touchedBy: derivedFrom(6, 95),
    needs: { anyOf: ['steps', 'sleep'], alone: true },
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
    ...windowed,
    operation: operations.biomarkersOf,
    schema: receivedBiomarkerSchema,
    quickCheck: quickChecks.biomarkers,
    table: 'biomarkers',
    windowMs: 35 * DAY,
    longestMs: 8 * DAY,
    touchedBy: derivedFrom(12, Number.POSITIVE_INFINITY),
    needs: { anyOf: ['steps', 'sleep'], alone: true },
    startColumn: 'start_date_time',
    endColumn: 'end_date_time',
    dayPeriodicities: ['daily', 'intraday'],
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
    ...windowed,
    operation: operations.archetypesOf,
    schema: receivedArchetypeSchema,
    quickCheck: quickChecks.archetypes,
    table: 'archetypes',
    windowMs: 92 * DAY,
    longestMs: 32 * DAY,
    touchedBy: derivedFrom(36, Number.POSITIVE_INFINITY),
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
    ...windowed,
    operation: operations.trendsOf,
    schema: receivedTrendSchema,
    quickCheck: quickChecks.trends,
    table: 'trends',
    windowMs: 92 * DAY,
    longestMs: 32 * DAY,
    touchedBy: derivedFrom(33, Number.POSITIVE_INFINITY),
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
    ...windowed,
    operation: operations.comparisonsOf,
    schema: receivedComparisonSchema,
    quickCheck: quickChecks.comparisons,
    table: 'comparisons',
    windowMs: 35 * DAY,
    longestMs: 8 * DAY,
    touchedBy: derivedFrom(6, 185),
    needs: { anyOf: ['steps', 'sleep'], alone: false },
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
    ...windowed,
    operation: operations.tagsOf,
    schema: receivedTagSchema,
    quickCheck: quickChecks.tags,
    table: 'tags',
    windowMs: 92 * DAY,
    longestMs: 366 * DAY,
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
    schema: receivedDemographicSchema,
    table: 'demographics',
    windowMs: Number.MAX_SAFE_INTEGER,
    settleMs: 0,
    touchedBy: { demographics: 'everything' },
    columns: [number('age'), text('gender'), text('birth_date', 'birthDate'), text('country')],
  },
  {
    name: 'device-information',
    kind: 'snapshot',
    operation: operations.deviceInformation,
    schema: receivedDeviceInformationSchema,
    table: 'device_information',
    windowMs: Number.MAX_SAFE_INTEGER,
    settleMs: 0,
    touchedBy: { 'device-information': 'everything' },
    columns: [
      text('device_type', 'deviceType'),
      text('device_model', 'deviceModel'),
      text('system'),
      text('system_version', 'systemVersion'),
      text('time_zone', 'timeZone'),
    ],
  },
] as const satisfies readonly PulledStream[]

/**
 * The catalogue of streams that are pushed, in the order of pushing: upstream derives from logs by who the profile is. A
 * new stream is one entry here and a migration that widens `parcels_stream_check`; the pulled streams that a push of it
 * changes name it in `touchedBy`. `test/promises/a-new-pushed-stream.test.ts` adds two.
 */
export const pushedStreams = [
  {
    name: 'device-information',
    kind: 'snapshot',
    schema: deviceInformationInputSchema,
    numbers: [],
    replace: operations.updateDeviceInformation,
    merge: 'last-wins',
  },
  {
    name: 'demographics',
    kind: 'snapshot',
    schema: demographicInputSchema,
    numbers: [],
    replace: operations.replaceDemographic,
    merge: 'merge-patch',
    patch: operations.updateDemographic,
  },
  {
    name: 'tags',
    kind: 'list',
    schema: tagInputSchema,
    numbers: [],
    operation: operations.uploadTagsOf,
    answer: undefined,
    identify: identifyTag,
  },
  {
    name: 'data-logs',
    kind: 'list',
    schema: dataLogInputSchema,
    quickCheck: quickChecks.dataLogs,
    numbers: ['value'],
    operation: operations.uploadLogs,
    answer: receivedUploadSchema,
    strangeType: strangeDataType,
    evidenceOf: evidenceOfLog,
    identify: identifyLog,
  },
] as const satisfies readonly PushedStream[]

/** The stream that measurements are pushed in: health exports are read into it. */
export const logStreamName = 'data-logs' satisfies (typeof pushedStreams)[number]['name']

export const catalogue: Catalogue = { pulled: pulledStreams, pushed: pushedStreams }
