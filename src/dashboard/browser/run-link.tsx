import { Link, Tag } from '../../web/browser/parts.tsx'

const runTones: Readonly<Record<string, string>> = {
  running: 'busy',
  done: 'well',
  stopped: 'odd',
  failed: 'bad',
}

/** A run by its kind and number, and how it stands. */
export const RunLink = ({ run: { id, kind, state } }: { run: { id: string; kind: string; state: string } }) => (
  <span class="run-link">
    <Link to={`/runs/${id}`}>
      {kind} {id}
    </Link>{' '}
    <Tag tone={runTones[state]}>{state}</Tag>
  </span>
)
