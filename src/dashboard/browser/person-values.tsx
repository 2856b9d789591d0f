import { HOUR } from '../../base/time/units.ts'
import { address, changeQuery } from '../../web/browser/address.ts'
import { type Json, useAnswer } from '../../web/browser/ask.ts'
import { DayChart, LaneChart } from '../../web/browser/charts.tsx'
import { DraftInput, Select } from '../../web/browser/inputs.tsx'
import { Answered, Empty, Panel, Table, Text } from '../../web/browser/parts.tsx'
import { shownDecimal, shownInstant, shownNumber } from '../../web/browser/shown.ts'
import { MarkScale, NightRaster, Spark, Waterfall } from '../../web/browser/small-charts.tsx'
import type { ExplanationAnswer, ValuesAnswer } from '../routes/person-routes.ts'
import { besideGoal, shownChange, shownMeasured } from './measured.ts'

const scoreNames = ['wellbeing', 'activity', 'sleep', 'readiness', 'mental_wellbeing'] as const

export function PersonValuesPanels({ profileId }: { profileId: string }) {
  const { answer, again } = useAnswer<ValuesAnswer>('person/values', { profileId })
  return (
    <Answered answer={answer} again={again}>
      {(values) =>
        values.days.length === 0 ? (
          <Panel title="Health values">
            <Empty>Nothing in the last sixty days.</Empty>
          </Panel>
        ) : (
          <div class="grid two">
            <Scores values={values} />
            <Why profileId={profileId} values={values} />
            <Measured values={values} title="Steps" of="steps" kind="bar" />
            <Measured values={values} title="Resting heart rate" of="restingHeart" kind="line" />
            <Measured values={values} title="Minutes asleep" of="sleepMinutes" kind="bar" />
            <SleepStages values={values} />
            <Nights values={values} />
            <Trends values={values} />
            <Comparisons values={values} />
            <Changes values={values} />
          </div>
        )
      }
    </Answered>
  )
}

type WithValues = { readonly values: Json<ValuesAnswer> }

function Scores({ values }: WithValues) {
  const days = values.days.map(({ day }) => day)
  const series = scoreNames.map((name) => ({
    name: name.replace('_', ' '),
    values: values.days.map((day) => day[name]),
  }))
  return (
    <Panel title="Scores">
      <LaneChart days={days} series={series} label={`Scores of ${days.length} days`} />
    </Panel>
  )
}

type Measure = 'steps' | 'restingHeart' | 'sleepMinutes'

function Measured({ values, title, of, kind }: WithValues & { title: string; of: Measure; kind: 'line' | 'bar' }) {
  const days = values.days.map(({ day }) => day)
  const measured = values.days.map((day) => day[of])
  const baseline = baselineOf(measured)
  return (
    <Panel
      title={title}
      note={baseline && `usually ${shownNumber(Math.round(baseline.from))} to ${shownNumber(Math.round(baseline.to))}`}
    >
      <DayChart
        days={days}
        series={[{ name: title, values: measured }]}
        label={`${title}, ${days.length} days`}
        kind={kind}
        fromZero={kind === 'bar'}
        baseline={baseline}
      />
    </Panel>
  )
}

const BASELINE_DAYS_MIN = 7

/** The middle half of the person's own days. */
function baselineOf(values: ReadonlyArray<number | null>): { from: number; to: number } | undefined {
  const known = values.filter((value) => value !== null).toSorted((a, b) => a - b)
  if (known.length < BASELINE_DAYS_MIN) return undefined
  const at = (share: number) => known[Math.round((known.length - 1) * share)] ?? 0
  return { from: at(0.25), to: at(0.75) }
}

function Nights({ values }: WithValues) {
  const nights = values.nights.map(({ day, start, end }) => {
    const clock = Number(start.slice(11, 13)) + Number(start.slice(14, 16)) / 60
    const from = clock >= 18 ? clock - 18 : clock + 6
    return { day, from, to: from + (Date.parse(end) - Date.parse(start)) / HOUR }
  })
  return (
    <Panel title="Nights" note="newest first, by the person’s clock">
      {nights.length === 0 ? <p class="quiet">No nights in 28 days.</p> : <NightRaster nights={nights} />}
    </Panel>
  )
}

/** A bar for each night, the deepest sleep at its foot. */
function SleepStages({ values: { nights } }: WithValues) {
  const oldestFirst = nights.toReversed()
  const staged = oldestFirst.filter(({ deep, light, rem }) => deep !== null || light !== null || rem !== null)
  return (
    <Panel title="Stages of sleep" note="minutes of each night">
      {staged.length === 0 ? (
        <p class="quiet">The person’s devices tell no stages.</p>
      ) : (
        <DayChart
          kind="bar"
          days={oldestFirst.map(({ day }) => day)}
          series={(['deep', 'light', 'rem', 'awake'] as const).map((name) => ({
            name,
            values: oldestFirst.map((night) => night[name]),
          }))}
          label={`Stages of sleep of ${staged.length} nights`}
        />
      )}
    </Panel>
  )
}

const trendWords: Readonly<Record<string, string>> = { increasing: 'rising', decreasing: 'falling' }

function Trends({ values: { trends } }: WithValues) {
  return (
    <Panel title="Trends">
      {trends.length === 0 && <p class="quiet">None yet: they need four whole weeks.</p>}
      <ul class="sentences">
        {trends.map(({ name, state, unit, values: points }) => (
          <li key={name}>
            <Spark values={points} />
            <span>
              <Text max={60}>{name.replaceAll('_', ' ')}</Text>
              {`: ${trendWords[state] ?? state}, `}
              <Text max={80}>{shownChange(points[0] ?? 0, points.at(-1) ?? 0, unit)}</Text> in four weeks
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Comparisons({ values: { comparisons } }: WithValues) {
  return (
    <Panel title="Comparisons" note="middle: the baseline; edge: 50 % off">
      {comparisons.length === 0 && <p class="quiet">None yet.</p>}
      <ul class="sentences">
        {comparisons.map(({ name, value, unit, data }) => (
          <li key={name}>
            <MarkScale value={value} references={data.map((comparison) => comparison.value)} />
            <span>
              <Text max={60}>{name.replaceAll('_', ' ')}</Text>: <Text max={80}>{shownMeasured(value, unit)}</Text>
              <span class="quiet">
                {data.map(
                  (comparison) =>
                    ` · ${comparison.state.replace('_', ' ')} beside ${comparison.type} ${shownMeasured(comparison.value, 'index')}`,
                )}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Changes({ values }: WithValues) {
  const shown = (value: number | null) => (value === null ? 'none' : shownDecimal(value, 3))
  return (
    <Panel title="Scores that were revised" flush>
      <Table
        head={['score', 'day', 'before', 'after', 'found']}
        numbers={['before', 'after']}
        label="Revised scores"
        empty="No score has changed after it was first read."
      >
        {values.changes.map(({ type, day, before, after, changedAt }) => (
          <tr key={`${type}${day}${changedAt}`}>
            <td>{type.replace('_', ' ')}</td>
            <td class="time">{day}</td>
            <td class="number">{shown(before)}</td>
            <td class="number">{shown(after)}</td>
            <td class="time">{shownInstant(changedAt)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function Why({ profileId, values }: WithValues & { profileId: string }) {
  const { query } = address.value
  const score: (typeof scoreNames)[number] = scoreNames.find((scoreName) => scoreName === query.get('score')) ?? 'sleep'
  const newest = values.days.findLast((day) => day[score] !== null)?.day ?? values.days.at(-1)?.day ?? ''
  const day = query.get('scoreDay') ?? newest
  return (
    <Panel
      title="Why this score"
      aside={
        <span class="row">
          <Select
            label="Score"
            value={score}
            options={scoreNames.map((name) => [name, name.replace('_', ' ')] as const)}
            choose={(name) => changeQuery({ score: name })}
          />
          <DraftInput type="date" label="Day" value={day} onCommit={(chosen) => changeQuery({ scoreDay: chosen })} />
        </span>
      }
    >
      <Explained profileId={profileId} score={score} date={day} />
    </Panel>
  )
}

function Explained({ profileId, score, date }: { profileId: string; score: string; date: string }) {
  const { answer, again } = useAnswer<ExplanationAnswer>('person/explanation', { profileId, score, date })
  return (
    <Answered answer={answer} again={again}>
      {({ value, factors, missing, coverage, reason }) => (
        <div class="stack">
          <p>
            {value === null
              ? `No score, because ${reason}`
              : `${score.replace('_', ' ')} ${shownDecimal(value, 2)}, from ${Math.round(coverage * 100)} % of its weight`}
          </p>
          {factors.length > 0 && (
            <Waterfall
              label={`Parts of ${score}`}
              parts={factors.map(({ name, contribution, ...measured }) => ({
                name: name.replaceAll('_', ' '),
                amount: contribution,
                note: `${shownDecimal(contribution, 2)} · ${besideGoal(measured)}`,
              }))}
            />
          )}
          {missing.length > 0 && (
            <p class="small quiet">
              Missing: {missing.map((input) => `${input.name.replaceAll('_', ' ')} (${input.reason})`).join(', ')}
            </p>
          )}
        </div>
      )}
    </Answered>
  )
}
