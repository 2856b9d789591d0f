import { changeQuery } from '../../web/browser/address.ts'
import { Link, Tag, Text } from '../../web/browser/parts.tsx'

const NAME_LENGTH_MAX = 60

/** A person, as this visit may see the name: a click leads to the person's view. */
export const PersonLink = ({ profileId, name }: { profileId: string; name: string }) =>
  profileId === '' ? (
    <Text max={NAME_LENGTH_MAX}>{name}</Text>
  ) : (
    <Link to={`/people/${profileId}`}>
      <Text max={NAME_LENGTH_MAX}>{name}</Text>
    </Link>
  )

const runTones: Readonly<Record<string, string>> = {
  running: 'busy',
  done: 'well',
  stopped: 'odd',
  failed: 'bad',
}

/** A run by its kind and number, with its state. */
export const RunLink = ({ run: { id, kind, state } }: { run: { id: string; kind: string; state: string } }) => (
  <span class="run-link">
    <Link to={`/runs/${id}`}>
      {kind} {id}
    </Link>{' '}
    <Tag tone={runTones[state]}>{state}</Tag>
  </span>
)

/** Leads on from a page of a list that is the newest first. `before`: the key with which the page begins, which the address holds. */
export const PageLinks = ({ before, nextBefore }: { before: string | null; nextBefore: string | null }) =>
  before === null && nextBefore === null ? null : (
    <div class="row pages">
      <button type="button" disabled={before === null} onClick={() => changeQuery({ before: '' })}>
        Newest
      </button>
      <button type="button" disabled={nextBefore === null} onClick={() => changeQuery({ before: nextBefore ?? '' })}>
        Older
      </button>
    </div>
  )
