import { isSignedOut } from '../../../web/browser/ask.ts'
import { isConnected } from '../../../web/browser/live-state.ts'
import { PageShell, SignedInAs, SignInForm } from '../../../web/browser/page-shell.tsx'
import { shownInstant } from '../../../web/browser/shown.ts'
import { ThemeSwitch } from '../../../web/browser/theme-switch.tsx'
import { consoleScreens } from './console-screens.ts'
import { consoleSession, enterConsole, isSandbox, leaveConsole } from './console-session.ts'
import { liveSandbox, useLiveSandbox } from './live-sandbox.ts'

const brand = 'vitalsync console'

export function ConsolePage() {
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
  const told = liveSandbox.value
  return (
    <div class="foot">
      <ThemeSwitch />
      {isSandbox.value && (
        <span role="status">
          {!isConnected.value ? 'connection lost' : told ? `sandbox at ${shownInstant(told.at)} UTC` : 'connecting …'}
        </span>
      )}
      <SignedInAs actor={consoleSession.value.actor} signOut={leaveConsole} />
    </div>
  )
}
