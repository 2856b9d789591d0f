import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Actor } from '../access.ts'
import { address } from './address.ts'
import { type Refusal, refusalOf, trouble } from './ask.ts'
import { LabelledSelect } from './inputs.tsx'
import { Empty, Failed, Link, OpenDialog } from './parts.tsx'
import { isLocalZone, shownNumber, shownZone } from './shown.ts'

/** A view of a page. The path of the address chooses it; parts in braces are given to it. */
export type Screen = {
  readonly path: string
  /** The word in the navigation; undefined: reached from other views. */
  readonly label?: string
  readonly title: string
  /** How much waits there for somebody; undefined: it is not known. */
  readonly count?: () => number | undefined
  readonly view: ComponentType<{ params: Readonly<Record<string, string>> }>
}

function screenAt(
  screens: readonly Screen[],
  path: string,
): { screen: Screen; params: Record<string, string> } | undefined {
  for (const screen of screens) {
    const match = new RegExp(`^${screen.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`).exec(path)
    if (match) return { screen, params: { ...match.groups } }
  }
  return undefined
}

type ShellProps = {
  readonly brand: string
  readonly screens: readonly Screen[]
  readonly foot: ComponentChildren
  /** Further links of the navigation. */
  readonly more?: ComponentChildren
  /** Leads to places by a few letters. */
  readonly find?: ComponentChildren
}

/** Navigation beside the view of the address. */
export function PageShell({ brand, screens, foot, more, find }: ShellProps) {
  const found = screenAt(screens, address.value.path)
  useEffect(() => {
    document.title = `${found?.screen.title ?? 'Not found'} · ${brand}`
  }, [found?.screen])
  const views = useRef<HTMLElement>(null)
  const counts = screens.map(({ count }) => count?.())
  // On a phone the views scroll sideways, and the last ones begin beyond the edge; a count that comes later moves them.
  useEffect(() => {
    views.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [address.value.path, counts.join()])
  const View = found?.screen.view
  return (
    <div class="shell">
      <a class="skip" href="#main">
        To the content
      </a>
      <aside class="side">
        <div class="brand">{brand}</div>
        {find}
        <nav class="scroll" aria-label="Views" ref={views}>
          {screens.map(({ path, label }, index) =>
            label ? (
              <Link key={path} to={path}>
                {label}
                <NavigationCount count={counts[index]} />
              </Link>
            ) : null,
          )}
          {more}
        </nav>
        {foot}
      </aside>
      <main class="main" id="main" tabIndex={-1}>
        <Trouble />
        {View ? <View key={address.value.path} params={found.params} /> : <NoView />}
      </main>
      <OpenDialog />
    </div>
  )
}

export const NavigationCount = ({ count }: { count: number | undefined }) =>
  count === undefined || count === 0 ? null : <span class="tag odd">{shownNumber(count)}</span>

/** Says on every page when its answers may not be true any more. */
const Trouble = () =>
  trouble.value === '' ? null : (
    <p class="note bad" role="alert">
      {trouble.value} <span class="hint">The page shows what it knew before, and asks again.</span>
    </p>
  )

export const SignedInAs = ({ actor, signOut }: { actor: Actor | null; signOut: () => Promise<void> }) =>
  actor && actor.name !== 'local' ? (
    <span>
      {actor.name} ({actor.role}s){' '}
      <button type="button" class="plain" onClick={() => void signOut()}>
        Sign out
      </button>
    </span>
  ) : null

const NoView = () => (
  <>
    <h1 class="head">Not found</h1>
    <Empty>There is no such view.</Empty>
  </>
)

type SignInProps = { brand: string; signIn: (name: string, password: string) => Promise<void> }

export function SignInForm({ brand, signIn }: SignInProps) {
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
      <h1>{brand}</h1>
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

const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const kept = localStorage.getItem('theme')
const theme = signal<Theme>(themes.find((name) => name === kept) ?? 'system')
const show = (chosen: Theme) => {
  if (chosen === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = chosen
}
show(theme.value)

/** Light, dark, or as the system has it; this browser remembers. */
export function ThemeSwitch() {
  const choose = (value: string) => {
    const chosen = themes.find((name) => name === value) ?? 'system'
    theme.value = chosen
    localStorage.setItem('theme', chosen)
    show(chosen)
  }
  return <LabelledSelect label="Look" value={theme.value} options={themes} choose={choose} />
}

isLocalZone.value = localStorage.getItem('zone') === 'local'

/** Times in UTC, or in the zone of this browser, which remembers. */
export function ZoneSwitch() {
  const choose = (value: string) => {
    isLocalZone.value = value === 'local'
    localStorage.setItem('zone', value)
  }
  const { timeZone } = new Intl.DateTimeFormat('en').resolvedOptions()
  const options = [['utc', 'UTC'] as const, ['local', timeZone] as const]
  const value = isLocalZone.value ? 'local' : 'utc'
  return (
    <LabelledSelect label="Times" title={`Times are ${shownZone()}`} value={value} options={options} choose={choose} />
  )
}
