import { Link, Text } from '../../web/browser/parts.tsx'

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
