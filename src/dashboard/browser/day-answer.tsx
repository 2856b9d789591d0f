import type { ComponentChildren } from 'preact'
import { changeQuery } from '../../web/browser/address.ts'
import { type Json, useAnswer } from '../../web/browser/ask.ts'
import { Answered, Empty, Link, Panel, Tag, Text } from '../../web/browser/parts.tsx'
import { shownCount, weekdayOf } from '../../web/browser/shown.ts'
import type { WhyAnswer } from '../routes/coverage-routes.ts'
import type { DayScoresAnswer } from '../routes/person-routes.ts'

type DayProps = {
  readonly profileId: string
  readonly date: string
  /** Only of this stream. */
  readonly stream?: string
  /** This stream comes first. */
  readonly first?: string | null
}

/** Why a person's day is there or not, with the evidence and the next step. It stays in view below what was clicked. */
export function DayAnswer({ profileId, date, stream, first = null }: DayProps) {
  const query = { profileId, date, ...(stream === undefined ? {} : { stream }) }
  const { answer, again } = useAnswer<WhyAnswer>('why', query)
  return (
    <div class="in-view">
      <Panel
        title={`Why ${date}, ${weekdayOf(date)}`}
        aside={
          <span class="row">
            <Link to={`/people/${profileId}?date=${date}`}>The person</Link>
            <button type="button" class="plain" onClick={() => changeQuery({ date: '' })}>
              Close
            </button>
          </span>
        }
      >
        <Answered answer={answer} again={again}>
          {(reports) =>
            reports.length === 0 ? (
              <Empty>
                The day is not wanted of this person: it lies before the first wanted day, or in the future.
              </Empty>
            ) : (
              <div class="stack">
                {reports
                  .toSorted((a, b) => Number(b.stream === first) - Number(a.stream === first))
                  .map((report) => (
                    <Reason key={report.stream} report={report}>
                      {report.stream === 'scores' && <MissingScores profileId={profileId} date={date} />}
                    </Reason>
                  ))}
              </div>
            )
          }
        </Answered>
      </Panel>
    </div>
  )
}

function Reason({ report, children }: { report: Json<WhyAnswer>[number]; children: ComponentChildren }) {
  return (
    <div>
      <p>
        <strong>
          {report.stream} of <Text max={60}>{report.externalId}</Text>
        </strong>{' '}
        <Tag tone={report.state === 'refused' || report.state === 'quarantined' ? 'odd' : ''}>
          {report.state.replace('_', ' ')}
        </Tag>{' '}
        {report.cause !== null && (
          <Tag tone={report.cause === 'sent_not_derived' ? 'odd' : ''}>{report.cause.replaceAll('_', ' ')}</Tag>
        )}{' '}
        {report.state === 'data' && shownCount(report.rows, 'record')}
      </p>
      {report.reason !== '' && (
        <p>
          <Text>{report.reason}</Text>
        </p>
      )}
      {children}
      {report.evidence.map((line) => (
        <p key={line} class="small quiet">
          <Text>{line}</Text>
        </p>
      ))}
      <p class="small">
        → <Text>{report.todo}</Text>
      </p>
    </div>
  )
}

/** A day may have scores and lack one of them: each that is not stored says why. */
function MissingScores({ profileId, date }: { profileId: string; date: string }) {
  const { answer, again } = useAnswer<DayScoresAnswer>('person/day-scores', { profileId, date })
  return (
    <Answered answer={answer} again={again}>
      {({ missing }) => (
        <ul>
          {missing.map(({ score, reason, factors }) => (
            <li key={score}>
              <strong>No {score.replace('_', ' ')} score</strong>: <Text>{reason}</Text>
              <span class="small quiet">
                {factors.map((factor) => ` · ${factor.names.join(', ').replaceAll('_', ' ')}: ${factor.reason}`)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Answered>
  )
}
