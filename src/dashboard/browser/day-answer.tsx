import { useAnswer } from '../../web/browser/ask.ts'
import { Answered, Empty, Link, Panel, Tag, Text } from '../../web/browser/parts.tsx'
import { shownCount } from '../../web/browser/shown.ts'
import type { WhyAnswer } from '../routes/coverage-routes.ts'

/** Why a person's day is there or not, with the evidence and the next step. */
export function DayAnswer({ profileId, date, stream }: { profileId: string; date: string; stream?: string }) {
  const query = { profileId, date, ...(stream === undefined ? {} : { stream }) }
  const { answer, again } = useAnswer<WhyAnswer>('why', query)
  return (
    <Panel title={`Why ${date}`} aside={<Link to={`/people/${profileId}`}>The person</Link>}>
      <Answered answer={answer} again={again}>
        {(reports) =>
          reports.length === 0 ? (
            <Empty>The day is not wanted of this person: it lies before the first wanted day, or in the future.</Empty>
          ) : (
            <div class="stack">
              {reports.map((report) => (
                <div key={report.stream}>
                  <p>
                    <strong>
                      {report.stream} of <Text max={60}>{report.externalId}</Text>
                    </strong>{' '}
                    <Tag tone={report.state === 'refused' || report.state === 'quarantined' ? 'odd' : ''}>
                      {report.state.replace('_', ' ')}
                    </Tag>{' '}
                    {report.state === 'data' && shownCount(report.rows, 'record')}
                  </p>
                  {report.reason !== '' && (
                    <p>
                      <Text>{report.reason}</Text>
                    </p>
                  )}
                  {report.evidence.map((line) => (
                    <p key={line} class="small quiet">
                      <Text>{line}</Text>
                    </p>
                  ))}
                  <p class="small">
                    → <Text>{report.todo}</Text>
                  </p>
                </div>
              ))}
            </div>
          )
        }
      </Answered>
    </Panel>
  )
}
