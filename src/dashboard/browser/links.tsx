import { address, changeQuery } from '../../web/browser/address.ts'
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

type PageLinksProps = { before: string | null; nextBefore: string | null; name?: string; first?: string; next?: string }

/** Leads on from a page of a list. `before`: the key with which the page begins, which the address holds by `name`. */
export const PageLinks = ({ before, nextBefore, name = 'before', first = 'Newest', next = 'Older' }: PageLinksProps) =>
  before === null && nextBefore === null ? null : (
    <div class="row pages">
      <button type="button" disabled={before === null} onClick={() => changeQuery({ [name]: '' })}>
        {first}
      </button>
      <button type="button" disabled={nextBefore === null} onClick={() => changeQuery({ [name]: nextBefore ?? '' })}>
        {next}
      </button>
    </div>
  )

/** Leads on from a page of causes. The most frequent come first. */
export const CausePageLinks = ({ before, nextBefore }: Pick<PageLinksProps, 'before' | 'nextBefore'>) => (
  <PageLinks before={before} nextBefore={nextBefore} name="causes" first="Most frequent" next="Less frequent" />
)

/** The page of causes that the address chooses: for its question, and for the addresses that keep it. */
export const causesQuery = (query: URLSearchParams): Record<string, string> => {
  const before = query.get('causes')
  return before === null ? {} : { before }
}
export const pageOfCauses = (): Record<string, string> => {
  const causes = address.value.query.get('causes')
  return causes === null ? {} : { causes }
}
