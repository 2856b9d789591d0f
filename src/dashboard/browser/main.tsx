import '../../web/browser/design.css'
import './dashboard.css'
import { render } from 'preact'
import { isSignedOut } from '../../web/browser/ask.ts'
import { isConnected, nowMs } from '../../web/browser/live-state.ts'
import { PageShell, type Screen, SignedInAs, SignInForm, ThemeSwitch } from '../../web/browser/page-shell.tsx'
import { shownAge } from '../../web/browser/shown.ts'
import { changeSession, live, openSession, signIn, signOut, switches, useLive } from './dashboard-state.ts'
import { CoverageScreen } from './screens/coverage.tsx'
import { FailuresScreen } from './screens/failures.tsx'
import { NowScreen } from './screens/now.tsx'
import { PeopleScreen } from './screens/people.tsx'
import { PersonScreen } from './screens/person.tsx'
import { QuarantineScreen } from './screens/quarantine.tsx'
import { QuestionsScreen } from './screens/questions.tsx'
import { RunsScreen } from './screens/runs.tsx'

/** In the order of the navigation. */
const screens: readonly Screen[] = [
  { path: '/', label: 'Now', title: 'Now', view: NowScreen },
  { path: '/coverage', label: 'Coverage', title: 'Coverage', view: CoverageScreen },
  { path: '/people', label: 'People', title: 'People', view: PeopleScreen },
  { path: '/people/{id}', title: 'Person', view: PersonScreen },
  { path: '/failures', label: 'Failures', title: 'Failures and retrying', view: FailuresScreen },
  { path: '/runs', label: 'Runs', title: 'Runs', view: RunsScreen },
  { path: '/runs/{id}', title: 'Run', view: RunsScreen },
  { path: '/questions', label: 'Questions', title: 'Questions', view: QuestionsScreen },
  { path: '/quarantine', label: 'Quarantine', title: 'Quarantine', view: QuarantineScreen },
]

function DashboardPage() {
  return isSignedOut.value ? <SignInForm brand="vitalsync" signIn={signIn} /> : <SignedIn />
}

function SignedIn() {
  useLive()
  return <PageShell brand="vitalsync" screens={screens} foot={<Foot />} />
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
      <span role="status">
        {isConnected.value
          ? now
            ? `as of ${shownAge(now.at, nowMs.value)} · times are UTC`
            : 'connecting …'
          : 'connection lost'}
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
