import { formatShare } from '../../../base/text/readable.ts'
import { trouble } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Empty, Link, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownCount, shownDecimal, shownInstant, shownNumber, shownSpan } from '../../../web/browser/shown.ts'
import { type LiveNow, live } from '../dashboard-state.ts'
import { Drift } from '../drift-panel.tsx'
import { RunLink } from '../links.tsx'

/** The state of the pipeline, in one sentence, and the facts behind it. */
export function NowScreen() {
  const now = live.value
  if (!now)
    return (
      <>
        <h1 class="head">Now</h1>
        <p class="loading">Looking …</p>
      </>
    )
  return (
    <div class={trouble.value === '' ? 'answered' : 'answered stale'}>
      <h1 class="head">Now</h1>
      <p class={`sentence ${now.sentence.tone}`} role="status">
        <Text>{now.sentence.text}</Text>
        <span class="small quiet">as of {shownAge(now.at, nowMs.value)}</span>
      </p>
      <Figures now={now} />
      <div class="grid two">
        <UnderWay now={now} />
        <Retrying now={now} />
      </div>
      <Streams now={now} />
      <Drift now={now} />
      <Engines now={now} />
    </div>
  )
}

type WithNow = { readonly now: LiveNow }

function Figures({ now }: WithNow) {
  const { counts, quick, nightly, budget } = now
  const profiles = counts?.value.profiles
  const queued = (quick?.queue ?? []).reduce((sum, { waiting, active, delayed }) => sum + waiting + active + delayed, 0)
  return (
    <Panel title="At a glance">
      <dl class="figures">
        <Figure
          name="Last nightly"
          value={nightly ? shownAge(nightly.endedAt, nowMs.value) : now.runs ? 'none yet' : '…'}
        >
          {nightly &&
            `${nightly.state}, ${shownCount(nightly.done, 'profile')}${nightly.failed > 0 ? `, ${nightly.failed} failed` : ''}`}
        </Figure>
        <Figure name="Profiles" value={profiles ? shownNumber(profiles.active + profiles.new) : '…'}>
          {profiles && `${shownNumber(profiles.due)} due now`}
        </Figure>
        <Figure name="Workers alive" value={quick ? shownNumber(quick.workers) : '…'}>
          queue on {now.engine}
        </Figure>
        <Figure name="Jobs in the queue" value={quick ? shownNumber(queued) : '…'}>
          {quick?.queue
            ?.flatMap(({ lane, waiting, active, delayed }) =>
              waiting + active + delayed > 0 ? `${lane} ${shownNumber(waiting + active + delayed)}` : [],
            )
            .join(' · ')}
        </Figure>
        <Figure name="Requests a second" value={budget ? shownDecimal(budget.value.answersPerSecond) : '…'}>
          {budget &&
            `of ${shownNumber(Math.round(budget.value.requestsPerSecond ?? 0))}; at most ${budget.value.inFlight} in flight`}
        </Figure>
        <Figure name="Upstream" value={now.upstream ? (now.upstream.value.isReached ? 'answers' : 'silent') : '…'}>
          {now.upstream?.value.isReached &&
            `in ${now.upstream.value.tookMs} ms; ${quick?.tokenGeneration ? `token generation ${quick.tokenGeneration}` : 'no token yet'}`}
        </Figure>
        {now.nextSlots.map(({ schedule, at }) => (
          <Figure key={schedule} name={`Next ${schedule}`} value={at ? shownAge(at, nowMs.value) : 'not today'}>
            {shownInstant(at)}
          </Figure>
        ))}
      </dl>
    </Panel>
  )
}

function Figure({ name, value, children }: { name: string; value: string; children?: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        <span class="small">{children}</span>
      </dd>
    </div>
  )
}

function UnderWay({ now }: WithNow) {
  const running = now.runs?.filter(({ state }) => state === 'running') ?? []
  const shown = running.length > 0 ? running : (now.runs?.slice(0, 5) ?? [])
  return (
    <Panel title={running.length > 0 ? 'Under way' : 'Latest runs'} aside={<Link to="/runs">All runs</Link>} flush>
      {now.runs === null ? (
        <Counting />
      ) : (
        <Table
          head={['run', 'begun', 'done', 'failed', 'took']}
          numbers={['done', 'failed', 'took']}
          label="Runs"
          empty="No run yet. The next tick starts one; at once: vitalsync sync"
        >
          {shown.map((run) => (
            <tr key={run.id}>
              <td>
                <RunLink run={run} />
              </td>
              <td class="time">{shownAge(run.startedAt, nowMs.value)}</td>
              <td class="number">
                {shownNumber(run.done)}
                {run.state === 'running' ? ` of ${shownNumber(run.enqueued)}` : ''}
              </td>
              <td class="number">{shownNumber(run.failed)}</td>
              <td class="number">
                {shownSpan((run.endedAt ? Date.parse(run.endedAt) : nowMs.value) - Date.parse(run.startedAt))}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}

/** After a start nothing is known yet, which is not the same as nothing there. */
const Counting = () => (
  <p class="loading" role="status">
    Counting …
  </p>
)

const CAUSES_SHOWN = 6

function Retrying({ now }: WithNow) {
  const failures = now.counts?.value.failures ?? []
  const troubles = now.quick?.troubles ?? []
  return (
    <Panel title="Retried, and why" aside={<Link to="/failures">All failures</Link>} flush>
      {failures.length + troubles.length === 0 ? (
        now.counts && now.quick ? (
          <Empty>Nothing is being retried.</Empty>
        ) : (
          <Counting />
        )
      ) : (
        <Table head={['count', 'of', 'newest', 'reason']} numbers={['count']} label="Failures by cause">
          {troubles.map((text) => (
            <tr key={text}>
              <td colSpan={4} class="tone-odd">
                <Text>{text}</Text>
              </td>
            </tr>
          ))}
          {failures.slice(0, CAUSES_SHOWN).map((failure) => (
            <tr key={`${failure.kind}${failure.subject}${failure.reason}`}>
              <td class="number">{shownNumber(failure.count)}</td>
              <td class="time">{failure.subject}</td>
              <td class="time">{shownAge(failure.newestAt, nowMs.value)}</td>
              <td class="wide">
                <Text max={160}>{failure.reason}</Text>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}

function Streams({ now }: WithNow) {
  const { streams } = now
  return (
    <Panel title="Streams" note={streams && `counted ${shownAge(streams.askedAt, nowMs.value)}`} flush>
      {!streams ? (
        <Counting />
      ) : (
        <Table
          head={['stream', 'read', '', 'settled', 'newest reading', 'settled up to', 'never read']}
          numbers={['read', 'settled', 'never read']}
          label="Streams"
          empty="Nobody is known yet: vitalsync profiles discover takes in all that upstream knows."
        >
          {streams.value.map((stream) => (
            <StreamRow key={stream.stream} stream={stream} />
          ))}
        </Table>
      )}
    </Panel>
  )
}

function StreamRow({ stream }: { stream: NonNullable<LiveNow['streams']>['value'][number] }) {
  return (
    <tr>
      <td>
        <Link to={`/coverage?stream=${stream.stream}`}>{stream.stream}</Link>
      </td>
      <td class="number">{formatShare(stream.readShare)}</td>
      <td>
        <span class="bar well" aria-hidden="true">
          <span style={{ width: `${stream.readShare * 100}%` }} />
        </span>
      </td>
      <td class="number">{formatShare(stream.coveredShare)}</td>
      <td class="time">{shownAge(stream.newestReadAt, nowMs.value)}</td>
      <td class="time">{shownSpan(stream.lagSecondsMedian * 1000)} ago</td>
      <td class="number">{shownNumber(stream.neverRead)}</td>
    </tr>
  )
}

function Engines({ now }: WithNow) {
  const { outbox: waiting, quarantine: quarantined } = now.counts?.value ?? {}
  return (
    <div class="grid">
      <Panel title="Waiting to be pushed">
        {waiting?.map(({ stream, waiting: count, oldestAt }) => (
          <p key={stream}>
            {shownNumber(count)} {stream} <span class="quiet">since {shownAge(oldestAt, nowMs.value)}</span>
          </p>
        )) ?? <Counting />}
        {waiting?.length === 0 && <p class="quiet">Nothing waits.</p>}
      </Panel>
      <Panel title="Quarantine" aside={<Link to="/quarantine">Open</Link>}>
        {quarantined?.map(({ direction, stream, count }) => (
          <p key={direction + stream}>
            {shownNumber(count)} {stream} <span class="quiet">({direction})</span>
          </p>
        )) ?? <Counting />}
        {quarantined?.length === 0 && <p class="quiet">It is empty.</p>}
      </Panel>
      <Panel title="Engines">
        <dl class="facts">
          <dt>Warehouse</dt>
          <dd>answered {shownAge(now.databaseAnsweredAt, nowMs.value)}</dd>
          <dt>Queue</dt>
          <dd>answered {shownAge(now.queueAnsweredAt, nowMs.value)}</dd>
          <dt>Upstream</dt>
          <dd>
            <Text max={80}>{now.upstreamUrl}</Text>
          </dd>
        </dl>
      </Panel>
    </div>
  )
}
