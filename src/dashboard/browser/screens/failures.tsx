import { shellWord } from '../../../base/text/readable.ts'
import { adviceFor, onlyAfterRetry } from '../../../pipeline/ledger/retry.ts'
import { address } from '../../../web/browser/address.ts'
import { type Json, useAnswer } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Answered, Empty, Link, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownCount, shownInstant, shownNumber, shownText } from '../../../web/browser/shown.ts'
import type { FailureGroupsAnswer, FailuresAnswer } from '../../routes/failure-routes.ts'
import { ChoiceActions, Preview } from '../choice-actions.tsx'
import { followedCounts, mayAct } from '../dashboard-state.ts'
import { CausePageLinks, causesQuery, PageLinks, PersonLink, pageOfCauses } from '../links.tsx'
import { SelectAll, SelectRow, useSelection } from '../selection.tsx'

type Failure = Json<FailuresAnswer>['failures'][number]

/** Failures by cause: how many, since when, what to do, and the two things that can be done. */
export function FailuresScreen() {
  const { query } = address.value
  const { answer, again } = useAnswer<FailureGroupsAnswer>('failure-groups', causesQuery(query), followedCounts())
  const chosen = query.get('cause')
  return (
    <>
      <h1 class="head">Failures and retrying</h1>
      <Answered answer={answer} again={again}>
        {(page) => (
          <>
            {page.groups.length === 0 ? (
              <Panel title="By cause">
                <Empty>No failures: nothing is being retried, and nothing was given up.</Empty>
              </Panel>
            ) : (
              <Groups page={page} again={again} />
            )}
            {chosen !== null && (
              <FailuresOf
                cause={chosen}
                count={page.groups.find(({ cause }) => cause === chosen)?.count}
                again={again}
              />
            )}
          </>
        )}
      </Answered>
    </>
  )
}

function Groups({ page, again }: { page: Json<FailureGroupsAnswer>; again: () => void }) {
  const { groups, causes, nextBefore } = page
  const head = ['count', 'of', 'reason, and what to do', 'since, and last', 'next try', '']
  return (
    <Panel title="By cause" note={shownCount(causes, 'cause')} flush>
      <Table head={head} numbers={['count']} label="Failures by cause">
        {groups.map((group) => (
          <tr key={group.cause}>
            <td class="number">{shownNumber(group.count)}</td>
            <td class="time">
              {group.subject}
              <span class="small quiet"> {group.kind}</span>
            </td>
            <td class="wide">
              <Link to={`/failures?${new URLSearchParams({ ...pageOfCauses(), cause: group.cause })}`}>
                <Text max={140}>{group.reason}</Text>
              </Link>
              <p class="quiet">{adviceFor(group)}</p>
            </td>
            <td class="time">
              {shownAge(group.firstAt, nowMs.value)}
              <p class="quiet">{shownAge(group.lastAt, nowMs.value)}</p>
            </td>
            <td class="time">{nextTryWords(group)}</td>
            <td class="actions">{mayAct.value && <GroupActions group={group} again={again} />}</td>
          </tr>
        ))}
      </Table>
      <CausePageLinks before={address.value.query.get('causes')} nextBefore={nextBefore} />
    </Panel>
  )
}

const nextTryWords = ({ nextTryAt }: { nextTryAt: string | null }): string =>
  nextTryAt ? shownAge(nextTryAt, nowMs.value) : onlyAfterRetry

function GroupActions({ group, again }: { group: Json<FailureGroupsAnswer>['groups'][number]; again: () => void }) {
  const { cause, reason, count } = group
  return (
    <ChoiceActions
      of="failures"
      about={shownText(reason, 60)}
      choice={{ cause }}
      option={`--cause ${cause}`}
      count={count}
      preview={<PreviewOfCause cause={cause} count={count} />}
      after={again}
    />
  )
}

function PreviewOfCause({ cause, count }: { cause: string; count: number }) {
  const { answer, again } = useAnswer<FailuresAnswer>('failures', { cause })
  return (
    <Answered answer={answer} again={again}>
      {({ failures }) => <FailuresPreview failures={failures} count={count} />}
    </Answered>
  )
}

/** The windows and jobs that a retry asks for. */
const FailuresPreview = ({ failures, count }: { failures: readonly Failure[]; count: number }) => (
  <Preview count={count}>
    {failures.map((failure) => (
      <li key={failure.id}>
        <Text max={60}>{failure.name}</Text>: {failure.subject}, {askedWords(failure)}
      </li>
    ))}
  </Preview>
)

function askedWords({ startAt, endAt, backfill }: Failure): string {
  const span = startAt && endAt ? `${shownInstant(startAt)} to ${shownInstant(endAt)}` : 'all that is due'
  if (!backfill) return span
  const streams = backfill.streams?.join(', ') ?? 'every stream'
  return `${span}, ${backfill.again ? 'again all' : 'what is not covered'} of ${streams}`
}

type FailuresOfProps = { cause: string; count: number | undefined; again: () => void }

function FailuresOf({ cause, count = 0, again: againAll }: FailuresOfProps) {
  const before = address.value.query.get('before')
  const query = before === null ? { cause } : { cause, before }
  const { answer, again } = useAnswer<FailuresAnswer>('failures', query, followedCounts())
  const shown = answer.state === 'here' ? answer.value.failures : []
  const ids = shown.map(({ id }) => id)
  const selection = useSelection(ids)
  const chosen = shown.filter(({ id }) => selection.has(id))
  const after = () => {
    again()
    againAll()
  }
  return (
    <Panel
      title="People of this cause"
      aside={
        <span class="row small quiet">
          {count > ids.length && `${ids.length} of ${shownNumber(count)}`}
          {mayAct.value && ids.length > 0 && <SelectAll selection={selection} ids={ids} />}
          {mayAct.value && chosen.length > 0 && (
            <ChoiceActions
              of="failures"
              about={`${chosen.length} selected`}
              choice={{ ids: selection.ids }}
              option={selection.ids.map(shellWord).join(' ')}
              count={chosen.length}
              preview={<FailuresPreview failures={chosen} count={chosen.length} />}
              after={after}
            />
          )}
        </span>
      }
      flush
    >
      <Answered answer={answer} again={again}>
        {({ failures, nextBefore }) => (
          <>
            <Table
              head={['', 'person', 'of', 'from', 'to', 'tries', 'last', 'next try']}
              numbers={['tries']}
              label="People"
              empty="None any more."
            >
              {failures.map((failure) => (
                <tr key={failure.id}>
                  <td>{mayAct.value && <SelectRow selection={selection} id={failure.id} label={failure.id} />}</td>
                  <td>
                    <PersonLink profileId={failure.profileId} name={failure.name} />
                  </td>
                  <td>{failure.subject}</td>
                  <td class="time">{shownInstant(failure.startAt)}</td>
                  <td class="time">{shownInstant(failure.endAt)}</td>
                  <td class="number">{failure.attempts}</td>
                  <td class="time">{shownAge(failure.lastAt, nowMs.value)}</td>
                  <td class="time">{nextTryWords(failure)}</td>
                </tr>
              ))}
            </Table>
            <PageLinks before={before} nextBefore={nextBefore} />
          </>
        )}
      </Answered>
    </Panel>
  )
}
