import { shellQuoted } from '../../../base/text/readable.ts'
import { address } from '../../../web/browser/address.ts'
import { act, type Json, useAnswer } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Action, Answered, Empty, Link, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownCount, shownInstant, shownNumber, shownText } from '../../../web/browser/shown.ts'
import type { FailureGroupsAnswer, FailuresAnswer } from '../../routes/failure-routes.ts'
import { mayAct } from '../dashboard-state.ts'
import { PersonLink } from '../links.tsx'

type Group = Json<FailureGroupsAnswer>[number]

/** Failures by cause: how many, since when, what to do, and the two things that can be done. */
export function FailuresScreen() {
  const { answer, again } = useAnswer<FailureGroupsAnswer>('failure-groups')
  const chosen = address.value.query.get('cause')
  return (
    <>
      <h1 class="head">Failures and retrying</h1>
      <Answered answer={answer} again={again}>
        {(groups) =>
          groups.length === 0 ? (
            <Panel title="By cause">
              <Empty>No failures: nothing is being retried, and nothing was given up.</Empty>
            </Panel>
          ) : (
            <Groups groups={groups} again={again} />
          )
        }
      </Answered>
      {chosen !== null && <FailuresOf cause={chosen} />}
    </>
  )
}

function Groups({ groups, again }: { groups: readonly Group[]; again: () => void }) {
  const head = ['count', 'of', 'reason, and what to do', 'since, and last', 'next try', '']
  return (
    <Panel title="By cause" aside={<span class="small quiet">{shownCount(groups.length, 'cause')}</span>} flush>
      <Table head={head} numbers={['count']} label="Failures by cause">
        {groups.map((group) => (
          <tr key={group.cause}>
            <td class="number">{shownNumber(group.count)}</td>
            <td class="time">
              {group.subject}
              <span class="small quiet"> {group.kind}</span>
            </td>
            <td class="wide">
              <Link to={`/failures?cause=${group.cause}`}>
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
    </Panel>
  )
}

const nextTryWords = ({ nextTryAt }: { nextTryAt: string | null }): string =>
  nextTryAt ? shownAge(nextTryAt, nowMs.value) : 'by hand only'

function adviceFor({ kind, status, nextTryAt }: Group): string {
  if (kind === 'window' && nextTryAt === null) return 'Discarded: retry reads it again.'
  if (kind === 'window' && (status === 400 || status === 422))
    return 'Upstream rejects the request: show its operator the reason.'
  if (nextTryAt === null) return 'Correct the cause, then retry.'
  return 'It is tried again by itself; retry asks at once.'
}

function GroupActions({ group, again }: { group: Group; again: () => void }) {
  const { cause, reason, count } = group
  const shortReason = shownText(reason, 60)
  const quoted = shellQuoted(reason.slice(0, 200))
  const retry = async () => {
    const { retried } = await act<{ retried: number }>('failures/retry', { cause })
    return `${shownCount(retried, 'failure')} will be tried again: the next sweep takes them.`
  }
  const discard = async () => {
    const { discarded } = await act<{ discarded: number }>('failures/discard', { cause })
    return `${shownCount(discarded, 'failure')} discarded.`
  }
  return (
    <span class="row">
      <Action
        label="Retry"
        about={shortReason}
        command={`vitalsync failures retry --reason ${quoted}`}
        run={retry}
        after={again}
      />
      <Action
        label="Discard"
        about={shortReason}
        tone="danger"
        confirm={`${shownCount(count, 'failure')} with this reason will be forgotten. Windows among them stay gaps, and are not asked for again until they are retried.`}
        command={`vitalsync failures discard --reason ${quoted}`}
        run={discard}
        after={again}
      />
    </span>
  )
}

function FailuresOf({ cause }: { cause: string }) {
  const { answer, again } = useAnswer<FailuresAnswer>('failures', { cause })
  return (
    <Panel title="People of this cause" flush>
      <Answered answer={answer} again={again}>
        {(failures) =>
          failures.length === 0 ? (
            <Empty>None any more.</Empty>
          ) : (
            <Table
              head={['person', 'of', 'from', 'to', 'tries', 'last', 'next try']}
              numbers={['tries']}
              label="People"
            >
              {failures.map((one) => (
                <tr key={one.id}>
                  <td>
                    <PersonLink profileId={one.profileId} name={one.name} />
                  </td>
                  <td>{one.subject}</td>
                  <td class="time">{shownInstant(one.startAt)}</td>
                  <td class="time">{shownInstant(one.endAt)}</td>
                  <td class="number">{one.attempts}</td>
                  <td class="time">{shownAge(one.lastAt, nowMs.value)}</td>
                  <td class="time">{nextTryWords(one)}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Answered>
    </Panel>
  )
}
