import { address, changeQuery } from '../../../web/browser/address.ts'
import { useAnswer } from '../../../web/browser/ask.ts'
import { Answered, Link, Panel, Table, Tag, Text } from '../../../web/browser/parts.tsx'
import type { PeopleAnswer } from '../../routes/person-routes.ts'
import { followedCounts, session } from '../dashboard-state.ts'

/** Finds a person by the beginning of the name, or by our own id. */
export function PeopleScreen() {
  const search = address.value.query.get('search') ?? ''
  const { answer, again } = useAnswer<PeopleAnswer>('people', { search }, followedCounts())
  return (
    <>
      <h1 class="head">People</h1>
      <label>
        Search
        <input
          type="search"
          value={search}
          placeholder="name begins with, or our id"
          onInput={(event) => changeQuery({ search: event.currentTarget.value }, { replace: true })}
        />
      </label>
      <Panel
        title={search === '' ? 'The first by name' : 'Found'}
        note="at most twenty: a longer beginning finds the others"
        flush
      >
        <Answered answer={answer} again={again}>
          {(people) => (
            <Table head={['person', 'our id', 'state']} label="People" empty={nobodyShown(search !== '')}>
              {people.map(({ profileId, name, state }) => (
                <tr key={profileId}>
                  <td>
                    <Link to={`/people/${profileId}`}>
                      <Text max={100}>{name}</Text>
                    </Link>
                  </td>
                  <td>{profileId}</td>
                  <td>
                    <Tag>{state}</Tag>
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Answered>
      </Panel>
    </>
  )
}

/** Why a list of people is empty: none is known, or none fits the question. */
export function nobodyShown(isAsked: boolean): string {
  if (!isAsked) return 'Nobody is known yet: vitalsync profiles discover takes in all that upstream knows.'
  return session.value.masked
    ? 'Nobody has this id of ours, and names that are masked cannot be searched.'
    : 'Nobody fits. Names are compared letter by letter, from their beginning.'
}
