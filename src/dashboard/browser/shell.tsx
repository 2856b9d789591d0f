import { isSignedOut } from '../../web/browser/ask.ts'
import { isConnected, nowMs } from '../../web/browser/live-state.ts'
import { PageShell, SignedInAs, SignInForm } from '../../web/browser/page-shell.tsx'
import { shownAge } from '../../web/browser/shown.ts'
import { ThemeSwitch } from '../../web/browser/theme-switch.tsx'
import { live, useLive } from './live.ts'
import { screens } from './screens.ts'
import { changeSession, signIn, signOut, switches } from './session.ts'

export function DashboardPage() {
  return isSignedOut.value ? <SignInForm brand="vitalsync" signIn={signIn} /> : <SignedIn />
}

function SignedIn() {
  useLive()
  return <PageShell brand="vitalsync" screens={screens} foot={<Foot />} />
}

function Foot() {
  const { actor, masked, values } = switches.value
  const told = live.value
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
          ? told
            ? `as of ${shownAge(told.at, nowMs.value)} · times are UTC`
            : 'connecting …'
          : 'connection lost'}
      </span>
      <SignedInAs actor={actor} signOut={signOut} />
    </div>
  )
}
