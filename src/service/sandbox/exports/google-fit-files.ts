import { byStage, exerciseOf, jsonPart, ofType, sessionsOf, type TimedLog, type ZipPart } from './timed-logs.ts'

/** The merged stream of a type, the kind of its values, and the stream of the watch that it is made of. */
const streams: Readonly<
  Record<string, readonly [type: string, merged: string, kind: 'intVal' | 'fpVal', scale: number]>
> = {
  steps: ['step_count.delta', 'merge_step_deltas', 'intVal', 1],
  heart_rate: ['heart_rate.bpm', 'merge_heart_rate_bpm', 'fpVal', 1],
  resting_heart_rate: ['heart_rate.bpm', 'resting_heart_rate<-merge_heart_rate_bpm', 'fpVal', 1],
  oxygen_saturation: ['oxygen_saturation', 'merged', 'fpVal', 100],
  weight: ['weight', 'merge_weight', 'fpVal', 1],
  body_fat: ['body.fat.percentage', 'merged', 'fpVal', 1],
}
const stages = byStage({ awake: 1, light: 4, deep: 5, rem: 6 })

/** The logs of a watch and a scale as Takeout has them of Google Fit: merged streams, and the raw streams that they repeat. */
export function googleFitFiles(timed: readonly TimedLog[]): ZipPart[] {
  const measured = Object.entries(streams).flatMap(([dataType, [type, merged, kind, scale]]) => {
    const points = ofType(timed, dataType).map((sample) =>
      pointOf(sample, type, { [kind]: Number((sample.log.value * scale).toFixed(4)) }),
    )
    return [streamFile(`derived:com.google.${type}:com.google.android.gms:${merged}`, points), rawOf(type, points)]
  })
  const nights = ofType(timed, /^sleep_stage_(awake|light|deep|rem)$/).map((sample) =>
    pointOf(sample, 'sleep.segment', { intVal: stages[sample.log.dataType] ?? 0 }),
  )
  const sessions = sessionsOf(timed).map((sample) =>
    jsonPart(`Takeout/Fit/All Sessions/${sample.startMs}.json`, {
      fitnessActivity: exerciseOf(sample),
      startTime: new Date(sample.startMs).toISOString(),
      endTime: new Date(sample.endMs).toISOString(),
      duration: `${(sample.endMs - sample.startMs) / 1000}s`,
    }),
  )
  const sleep = streamFile('derived:com.google.sleep.segment:com.google.android.gms:merged', nights)
  return [...measured, sleep, ...sessions]
}

type Point = ReturnType<typeof pointOf>

/** Instants in nanoseconds are longer than a number holds, and are written digit by digit. */
const nanos = (atMs: number) => Number(`${atMs}000000`)

const pointOf = ({ startMs, endMs }: TimedLog, type: string, value: Readonly<Record<string, number>>) => ({
  fitValue: [{ value }],
  originDataSourceId: `raw:com.google.${type}:com.example.watch:`,
  startTimeNanos: nanos(startMs),
  endTimeNanos: nanos(endMs),
  dataTypeName: `com.google.${type}`,
  modifiedTimeMillis: endMs,
})

const streamFile = (stream: string, points: readonly Point[]) =>
  jsonPart(`Takeout/Fit/All Data/${stream.replaceAll(/[:<]/g, '_')}.json`, {
    'Data Source': stream,
    'Data Points': points,
  })

const rawOf = (type: string, points: readonly Point[]) => {
  const { name, data } = streamFile(`raw:com.google.${type}:com.example.watch:`, points)
  return { name: name.replace('.json', `-${points.length}.json`), data }
}
