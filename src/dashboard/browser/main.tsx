import '../../web/browser/design.css'
import './dashboard.css'
import { render } from 'preact'
import { ask, isSignedOut, trouble } from '../../web/browser/ask.ts'
import { nowMs } from '../../web/browser/live-state.ts'
import {
  NavigationCount,
  PageShell,
  type Screen,
  SignedInAs,
  SignInForm,
  ThemeSwitch,
  ZoneSwitch,
} from '../../web/browser/page-shell.tsx'
import { Palette, type Place } from '../../web/browser/palette.tsx'
import { Link } from '../../web/browser/parts.tsx'
import { shownAge, shownZone } from '../../web/browser/shown.ts'
import type { PeopleAnswer } from '../routes/person-routes.ts'
import { changeSession, live, openSession, signIn, signOut, switches, useLive } from './dashboard-state.ts'
import { AuditScreen } from './screens/audit.tsx'
import { CoverageScreen } from './screens/coverage.tsx'
import { FailuresScreen } from './screens/failures.tsx'
import { NowScreen } from './screens/now.tsx'
import { PeopleScreen } from './screens/people.tsx'
import { PersonScreen } from './screens/person.tsx'
import { QuarantineScreen } from './screens/quarantine.tsx'
import { QuestionsScreen } from './screens/questions.tsx'
import { RunsScreen } from './screens/runs.tsx'
import { SilenceScreen } from './screens/silence.tsx'

const sumOf = (list: ReadonlyArray<{ readonly count: number }> | undefined) =>
  list?.reduce((sum, { count }) => sum + count, 0)
const failuresCount = () => sumOf(live.value?.counts?.value.failures)
const quarantineCount = () => sumOf(live.value?.counts?.value.quarantine)

/** In the order of the navigation. */
const screens: readonly Screen[] = [
  { path: '/', label: 'Now', title: 'Now', view: NowScreen },
  { path: '/coverage', label: 'Coverage', title: 'Coverage', view: CoverageScreen },
  { path: '/people', label: 'People', title: 'People', view: PeopleScreen },
  { path: '/people/{id}', title: 'Person', view: PersonScreen },
  { path: '/silence', label: 'Silence', title: 'Who has gone silent', view: SilenceScreen },
  { path: '/failures', label: 'Failures', title: 'Failures and retrying', view: FailuresScreen, count: failuresCount },
  { path: '/runs', label: 'Runs', title: 'Runs', view: RunsScreen },
  { path: '/runs/{id}', title: 'Run', view: RunsScreen },
  { path: '/questions', label: 'Questions', title: 'Questions', view: QuestionsScreen },
  { path: '/quarantine', label: 'Quarantine', title: 'Quarantine', view: QuarantineScreen, count: quarantineCount },
  { path: '/audit', label: 'Audit', title: 'Audit', view: AuditScreen },
]

/** People of whom a covered day changed silently: the stream with most of them comes into view. */
function SilentLink() {
  const [most] = live.value?.counts?.value.silent.toSorted((a, b) => b.profiles - a.profiles) ?? []
  if (!most) return null
  return (
    <Link to={`/coverage?stream=${most.stream}&only=silent`}>
      Changed silently
      <NavigationCount count={live.value?.counts?.value.silent.reduce((sum, { profiles }) => sum + profiles, 0)} />
    </Link>
  )
}

/** Pages by their names, a run by its number, people by the beginning of the name or our own id. */
async function findPlaces(text: string, signal: AbortSignal): Promise<Place[]> {
  const wanted = text.toLowerCase()
  const pages = screens.flatMap(({ path, label }) =>
    label?.toLowerCase().startsWith(wanted) ? [{ path, label, kind: 'page' }] : [],
  )
  if (text === '') return pages
  const [, runId] = /^(?:run )?(\d{1,18})$/.exec(wanted) ?? []
  const people = await ask<PeopleAnswer>('people', { search: text }, signal)
  return [
    ...pages,
    ...people.map(({ profileId, name, state }) => ({
      path: `/people/${profileId}`,
      label: name,
      kind: `person ${profileId}, ${state}`,
    })),
    ...(runId === undefined ? [] : [{ path: `/runs/${runId}`, label: `Run ${runId}`, kind: 'run' }]),
  ].slice(0, PLACES_SHOWN)
}

const PLACES_SHOWN = 12

function DashboardPage() {
  return isSignedOut.value ? <SignInForm brand="vitalsync" signIn={signIn} /> : <SignedIn />
}

function SignedIn() {
  useLive()
  return (
    <PageShell
      brand="vitalsync"
      screens={screens}
      find={<Palette find={findPlaces} hint="a page, the beginning of a name, a number" />}
      more={<SilentLink />}
      foot={<Foot />}
    />
  )
}

function Foot() {
  const { actor, masked, values } = switches.value
  const now = live.value
  return (
    <div class="foot">
      <label>
        <input type="checkbox" checked={masked} onChange={() => void changeSession({ masked: !masked })} /> Mask names
      </label>
      <label title="Each look at health values is recorded">
        <input type="checkbox" checked={values} onChange={() => void changeSession({ values: !values })} /> Health
        values
      </label>
      <ThemeSwitch />
      <ZoneSwitch />
      <span role="status">
        {now ? `as of ${shownAge(now.at, nowMs.value)} · times are ${shownZone()}` : trouble.value || 'connecting …'}
      </span>
      <SignedInAs actor={actor} signOut={signOut} />
    </div>
  )
}

const root = document.querySelector('#app')
if (root) {
  await openSession()
  render(<DashboardPage />, root)
}
