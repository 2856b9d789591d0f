import { Answered, Link, Panel } from '../../../../web/browser/parts.tsx'
import { shownCount, shownInstant, shownNumber, shownSpan } from '../../../../web/browser/shown.ts'
import {
  consoleSession,
  controlUrl,
  isSandbox,
  liveSandbox,
  mayChange,
  serviceUrl,
  useOperations,
} from '../console-state.ts'

type Step = { readonly to: string; readonly name: string; readonly about: string; readonly ofSandbox?: boolean }

const steps: readonly Step[] = [
  {
    to: '/query/scoresOf',
    name: 'Ask for scores',
    about: 'The query builder fills the token in, and shows the same as curl and TypeScript.',
  },
  {
    to: '/demo',
    name: 'Try the demo app',
    about: 'It registers a person, uploads a made-up day, and shows the scores.',
  },
  {
    to: '/people',
    name: 'Make sample people',
    about: 'Eight kinds of lives, each with its devices and data. Move their clock.',
    ofSandbox: true,
  },
  {
    to: '/faults',
    name: 'Switch a fault on',
    about: 'Lost answers, throttling, late records: and see them strike in the journal.',
    ofSandbox: true,
  },
  { to: '/keys', name: 'Make a key', about: 'For a server (client key) or for an app. Its secret is shown once.' },
  {
    to: '/authentication',
    name: 'How signing in works',
    about: 'Account, profile and app: which header, from where, for how long.',
  },
]

const whereSamplePeopleAre = (
  <>
    Sample people, faults and a clock that moves belong to the sandbox, which <code>npx vitalsync sandbox</code> starts
    with a console of its own.
  </>
)

export function OverviewScreen() {
  const { answer, again } = useOperations()
  return (
    <>
      <h1 class="head">{isSandbox.value ? 'Sandbox of the Profile Service' : 'Profile Service'}</h1>
      {isSandbox.value ? <SandboxSentence /> : <p class="note">{whereSamplePeopleAre}</p>}
      {!mayChange.value && <p class="note">You may look, and not act: keys, tokens and people need the role act.</p>}
      <div class="grid two">
        <Panel title="Begin here" flush>
          <ol class="steps">
            {steps
              .filter(({ ofSandbox }) => !ofSandbox || isSandbox.value)
              .map(({ to, name, about }) => (
                <li key={to}>
                  <Link to={to}>{name}</Link>
                  <span class="quiet">{about}</span>
                </li>
              ))}
          </ol>
        </Panel>
        <Panel title="Addresses">
          <dl class="facts">
            <dt>Service</dt>
            <dd class="mono break">{serviceUrl}</dd>
            <dt>OpenAPI</dt>
            <dd>
              <a href="/openapi.json">openapi.json</a>
            </dd>
            <dt>Reference</dt>
            <dd>
              <Link to="/reference">in the console</Link>, or <a href="/docs">alone</a>
            </dd>
            {isSandbox.value && <SandboxAddresses />}
          </dl>
        </Panel>
      </div>
      <Answered answer={answer} again={again}>
        {({ sections }) => (
          <Panel title="The operations, by task">
            <ul class="tasks">
              {sections.map(({ title, operations }) => (
                <li key={title}>
                  <h3>{title}</h3>
                  {operations.map(({ name, summary }) => (
                    <Link key={name} to={`/reference/${name}`} title={summary}>
                      {name}
                    </Link>
                  ))}
                </li>
              ))}
            </ul>
          </Panel>
        )}
      </Answered>
    </>
  )
}

function SandboxSentence() {
  const sandbox = liveSandbox.value
  if (!sandbox) return null
  const { people, requests, faults, daysToDerive, aheadMs } = sandbox
  const clock = Math.abs(aheadMs) < 2000 ? '' : `, ${shownSpan(aheadMs)} ${aheadMs > 0 ? 'ahead' : 'behind'}`
  const rules = faults.length === 0 ? 'no fault is on' : `${shownCount(faults.length, 'fault')} on`
  const work = daysToDerive === 0 ? 'everything is derived' : `${shownCount(daysToDerive, 'day')} still to be derived`
  return (
    <p class={`sentence ${faults.length > 0 ? 'odd' : daysToDerive > 0 ? 'busy' : 'well'}`}>
      <span>
        {shownNumber(people)} made-up people, {rules}, {work}.
      </span>
      <span class="small quiet">
        {shownInstant(sandbox.at)} UTC{clock} · {shownCount(requests, 'request')}
      </span>
    </p>
  )
}

function SandboxAddresses() {
  const { credentials } = consoleSession.value
  return (
    <>
      <dt>Control</dt>
      <dd class="mono break">{controlUrl}</dd>
      {credentials &&
        Object.entries(credentials).map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd class="mono break">{value}</dd>
          </>
        ))}
    </>
  )
}
