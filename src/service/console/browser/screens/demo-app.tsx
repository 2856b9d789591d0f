import { useSignal } from '@preact/signals'
import { Command, Empty, Link, Panel, Tag } from '../../../../web/browser/parts.tsx'
import { shownSpan, shownText } from '../../../../web/browser/shown.ts'
import { AppKeyInputs } from '../caller-inputs.tsx'
import { into } from '../console-parts.tsx'
import { consoleSession, toneOfStatus } from '../console-state.ts'
import {
  type DemoScore,
  demo,
  demoRequests,
  isDemoBusy,
  mayRegister,
  registerDemo,
  sendDays,
  signInDemo,
  startAgain,
} from '../demo-steps.ts'

/** An app on a phone, and the requests that it sends. */
export function DemoAppScreen() {
  return (
    <>
      <div class="head">
        <h1>Demo app</h1>
        <span class="grow" />
        <button type="button" onClick={startAgain}>
          Begin again
        </button>
      </div>
      {!consoleSession.value.credentials && (
        <Panel title="App key" aside={<Link to="/keys">make one</Link>}>
          <div class="inputs">
            <AppKeyInputs />
          </div>
        </Panel>
      )}
      <div class="demo">
        <section class="phone" aria-label="The app">
          <Phone />
        </section>
        <RequestsOfApp />
      </div>
    </>
  )
}

function Phone() {
  const { step, fault } = demo.value
  return (
    <>
      <header>
        <b>Daywell</b>
        <span class="quiet small">demo</span>
      </header>
      {fault !== '' && (
        <p class="note bad" role="alert">
          {shownText(fault)}
        </p>
      )}
      {step === 'welcome' && <Welcome />}
      {step === 'registered' && <SendDays />}
      {step === 'deriving' && <Deriving />}
      {step === 'scores' && <Scores />}
    </>
  )
}

const newName = (): string => `demo-${crypto.randomUUID().slice(0, 8)}`

function Welcome() {
  const name = useSignal(newName())
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void registerDemo(name.value)
      }}
    >
      <p class="hello">How was your day?</p>
      <p class="quiet">Your watch knows how you slept and moved. We tell you what it comes to.</p>
      <label class="block">
        Your name here (externalId)
        <input required maxLength={100} value={name.value} autocomplete="off" onInput={into(name)} />
      </label>
      <button type="submit" class="primary" disabled={isDemoBusy.value || !mayRegister.value}>
        {isDemoBusy.value ? 'Signing up …' : 'Sign up'}
      </button>
      {consoleSession.value.credentials && (
        <button type="button" disabled={isDemoBusy.value} onClick={() => void signInDemo(name.value)}>
          Sign in as a person who is known
        </button>
      )}
      {!mayRegister.value && <p class="quiet small">An app key is missing.</p>}
    </form>
  )
}

function SendDays() {
  const { name } = demo.value
  return (
    <div class="stack">
      <p class="hello">Hello, {shownText(name, 40)}</p>
      <p class="quiet">
        Your watch has written down the night and the day. The data is made up, and different each time.
      </p>
      <button type="button" class="primary" disabled={isDemoBusy.value} onClick={() => void sendDays(1)}>
        {isDemoBusy.value ? 'Sending …' : 'Send my day'}
      </button>
      <button type="button" disabled={isDemoBusy.value} onClick={() => void sendDays(14)}>
        Send two weeks
      </button>
    </div>
  )
}

function Deriving() {
  const { scores, fault, daysSent } = demo.value
  return (
    <div class="stack">
      <p class="hello" role="status">
        Working it out …
      </p>
      <p class="quiet">
        {daysSent > 0 && (daysSent === 1 ? 'Your day has arrived. ' : `${daysSent} days have arrived. `)}
        Scores follow in seconds.
      </p>
      {scores.length > 0 && <ScoreCards scores={scores} />}
      {fault !== '' && daysSent > 0 && (
        <button type="button" onClick={() => void sendDays(daysSent)}>
          Send again
        </button>
      )}
    </div>
  )
}

function Scores() {
  const { scores, daysSent } = demo.value
  return (
    <div class="stack">
      {scores.length === 0 ? <Empty>There is no score for this day.</Empty> : <ScoreCards scores={scores} />}
      {daysSent < 14 && (
        <p class="quiet small">One day gives the first scores. Readiness compares a day with those before it.</p>
      )}
      <button type="button" disabled={isDemoBusy.value} onClick={() => void sendDays(14)}>
        Send two weeks
      </button>
    </div>
  )
}

const words: Readonly<Record<string, string>> = { mental_wellbeing: 'mind' }

/** The newest score of each kind. */
function ScoreCards({ scores }: { scores: readonly DemoScore[] }) {
  const newest = new Map(
    scores
      .toSorted((demoScore, other) => demoScore.scoreDateTime.localeCompare(other.scoreDateTime))
      .map((score) => [score.type, score]),
  )
  return (
    <ul class="scores">
      {[...newest.values()].map((score) => (
        <li key={score.type}>
          <Ring value={score.value} label={`${score.type}: ${Math.round(score.value * 100)} of 100`} />
          <div>
            <b>{words[score.type] ?? score.type}</b> <span class="quiet">{score.state}</span>
            <span class="quiet small"> {score.scoreDateTime.slice(0, 10)}</span>
            <ul class="factors">
              {score.factors.slice(0, 4).map(({ name, score: share }) => (
                <li key={name}>
                  <span>{name.replaceAll('_', ' ')}</span>
                  <meter min={0} max={1} value={share} aria-label={name} />
                </li>
              ))}
            </ul>
          </div>
        </li>
      ))}
    </ul>
  )
}

const RADIUS = 26
const AROUND = 2 * Math.PI * RADIUS

function Ring({ value, label }: { value: number; label: string }) {
  return (
    <svg class="ring" viewBox="0 0 64 64" width="64" height="64" role="img" aria-label={label}>
      <circle cx="32" cy="32" r={RADIUS} />
      <circle
        cx="32"
        cy="32"
        r={RADIUS}
        class="share"
        stroke-dasharray={`${value * AROUND} ${AROUND}`}
        transform="rotate(-90 32 32)"
      />
      <text x="32" y="33" text-anchor="middle" dominant-baseline="middle">
        {Math.round(value * 100)}
      </text>
    </svg>
  )
}

function RequestsOfApp() {
  const requests = demoRequests.value
  return (
    <Panel title="Sent by the app" note="the newest first">
      {requests.length === 0 ? (
        <Empty>Nothing yet. An app registers with AppId and AppSecret, then lives by the tokens of its person.</Empty>
      ) : (
        <ol class="sent">
          {requests.map(({ about, method, path, status, tookMs, curl }, place) => (
            <li key={`${requests.length - place}`}>
              <span class="row">
                <b>{about}</b>{' '}
                <Tag tone={status === 0 ? 'bad' : toneOfStatus(status)}>{status === 0 ? 'no answer' : status}</Tag>
                <span class="quiet small">{shownSpan(tookMs)}</span>
              </span>
              <code class="mono break">
                {method} {shownText(path, 200)}
              </code>
              <Command line={curl} />
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}
