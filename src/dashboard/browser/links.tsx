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
