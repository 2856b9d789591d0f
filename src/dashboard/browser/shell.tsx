import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { address } from '../../web/browser/address.ts'
import { isSignedOut, type Refusal, refusalOf } from '../../web/browser/ask.ts'
import { Empty, Failed, Link } from '../../web/browser/parts.tsx'
import { shownAge } from '../../web/browser/shown.ts'
import { ThemeSwitch } from '../../web/browser/theme-switch.tsx'
import { isConnected, live, nowMs, useLive } from './live.ts'
import { screenAt, screens } from './screens.ts'
import { changeSession, signIn, signOut, switches } from './session.ts'

export function DashboardPage() {
  return isSignedOut.value ? <SignIn /> : <Shell />
}

function Shell() {
  useLive()
  const found = screenAt(address.value.path)
  useEffect(() => {
    document.title = `${found?.screen.title ?? 'Not found'} · vitalsync`
  }, [found?.screen])
  const View = found?.screen.view
  return (
    <div class="shell">
      <a class="skip" href="#main">
        To the content
      </a>
      <aside class="side">
        <div class="brand">vitalsync</div>
        <nav aria-label="Views">
          {screens.map(({ path, label }) =>
            label ? (
              <Link key={path} to={path}>
                {label}
              </Link>
            ) : null,
          )}
        </nav>
        <Foot />
      </aside>
      <main class="main" id="main" tabIndex={-1}>
        {View ? <View key={address.value.path} params={found.params} /> : <Empty>There is no such view.</Empty>}
      </main>
    </div>
  )
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
        {isConnected.value ? (told ? `as of ${shownAge(told.at, nowMs.value)}` : 'connecting …') : 'connection lost'}
      </span>
      {actor && actor.name !== 'local' && (
        <span>
          {actor.name} ({actor.role}s){' '}
          <button type="button" class="plain" onClick={() => void signOut()}>
            Sign out
          </button>
        </span>
      )}
    </div>
  )
}

function SignIn() {
  const error = useSignal<Refusal | undefined>(undefined)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    error.value = undefined
    await signIn(String(form.get('name')), String(form.get('password'))).catch((thrown: unknown) => {
      error.value = refusalOf(thrown)
    })
  }
  return (
    <main class="sign-in">
      <h1>vitalsync</h1>
      <form class="stack" onSubmit={submit}>
        <label class="block">
          Name
          <input name="name" autocomplete="username" required />
        </label>
        <label class="block">
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        {error.value && <Failed error={error.value} />}
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </main>
  )
}
