import '../../../web/browser/design.css'
import './console.css'
import { render } from 'preact'
import { isSignedOut, trouble } from '../../../web/browser/ask.ts'
import { PageShell, type Screen, SignedInAs, SignInForm, ThemeSwitch } from '../../../web/browser/page-shell.tsx'
import { shownInstant } from '../../../web/browser/shown.ts'
import {
  consoleSession,
  enterConsole,
  isSandbox,
  leaveConsole,
  liveSandbox,
  openConsoleSession,
  useLiveSandbox,
} from './console-state.ts'
import { AuthenticationScreen } from './screens/authentication.tsx'
import { DemoAppScreen } from './screens/demo-app.tsx'
import { FaultsScreen } from './screens/faults.tsx'
import { KeysScreen } from './screens/keys.tsx'
import { OverviewScreen } from './screens/overview.tsx'
import { QueryScreen } from './screens/query.tsx'
import { ReferenceScreen } from './screens/reference.tsx'
import { SamplePeopleScreen } from './screens/sample-people.tsx'

const brand = 'vitalsync console'

const ofSandbox: readonly Screen[] = [
  { path: '/people', label: 'Sample people', title: 'Sample people', view: SamplePeopleScreen },
  { path: '/faults', label: 'Faults', title: 'Faults and journal', view: FaultsScreen },
]

/** In the order of the navigation. */
const consoleScreens = (isSandbox: boolean): readonly Screen[] => [
  { path: '/', label: 'Overview', title: 'Overview', view: OverviewScreen },
  { path: '/query', label: 'Query builder', title: 'Query builder', view: QueryScreen },
  { path: '/query/{operation}', title: 'Query builder', view: QueryScreen },
  { path: '/keys', label: 'API keys', title: 'API keys', view: KeysScreen },
  ...(isSandbox ? ofSandbox : []),
  { path: '/demo', label: 'Demo app', title: 'Demo app', view: DemoAppScreen },
  { path: '/reference', label: 'Reference', title: 'Reference', view: ReferenceScreen },
  { path: '/reference/{operation}', title: 'Reference', view: ReferenceScreen },
  { path: '/authentication', label: 'Authentication', title: 'Authentication', view: AuthenticationScreen },
]

function ConsolePage() {
  if (isSignedOut.value) return <SignInForm brand={brand} signIn={enterConsole} />
  return isSandbox.value ? (
    <SandboxConsole />
  ) : (
    <PageShell brand={brand} screens={consoleScreens(false)} foot={<Foot />} />
  )
}

function SandboxConsole() {
  useLiveSandbox()
  return <PageShell brand={brand} screens={consoleScreens(true)} foot={<Foot />} />
}

function Foot() {
  const value = liveSandbox.value
  return (
    <div class="foot">
      <ThemeSwitch />
      {isSandbox.value && (
        <span role="status">
          {trouble.value !== ''
            ? 'connection lost'
            : value
              ? `sandbox at ${shownInstant(value.at)} UTC`
              : 'connecting …'}
        </span>
      )}
      <SignedInAs actor={consoleSession.value.actor} signOut={leaveConsole} />
    </div>
  )
}

const root = document.querySelector('#app')
if (root) {
  await openConsoleSession()
  render(<ConsolePage />, root)
}
