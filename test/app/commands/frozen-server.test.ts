import { test as base } from '../../support/fixtures.ts'
import { runProgram, settingsFor, startProgram } from '../../support/run-program.ts'
import { type SilentProxy, startSilentProxy } from '../../support/silent-proxy.ts'

const test = base.extend<{ proxy: SilentProxy }>({
  proxy: async ({ warehouseUrl }, use) => {
    const proxy = await startSilentProxy(warehouseUrl)
    await use(proxy)
    await proxy.close()
  },
})

test.concurrent.for([
  { words: ['gaps'], asked: 'from vitalsync.profiles' },
  { words: ['sql', 'select 1'], asked: 'declare question' },
])(
  '$words.0 says that it waits for a Postgres that freezes, and gives up after a minute',
  {
    timeout: 180_000,
  },
  async ({ words, asked }, { proxy, expect, onTestFinished }) => {
    const program = { cwd: '/tmp', env: settingsFor(proxy.url) }
    await runProgram(['migrate'], program)
    const frozen = proxy.freezeAfter(asked)
    const command = startProgram(words, program)
    onTestFinished(() => command.kill('SIGKILL'))
    await frozen
    const frozenMs = performance.now()
    proxy.silence('to-server', 'to-client')

    await command.said(/^Postgres does not answer: waiting for it, for up to a minute$/m)
    expect(performance.now() - frozenMs).toBeLessThan(15_000)
    const { code, stderr } = await command.ended
    expect(performance.now() - frozenMs).toBeLessThan(100_000)
    expect(stderr).toMatch(
      /vitalsync: reach Postgres at 127\.0\.0\.1:\d+\/\S+: it takes the connection and then says nothing/,
    )
    expect(stderr.match(/waiting for it/g)).toHaveLength(1)
    expect(code).toBe(3)
  },
)

test.concurrent('a command says after a minute that one statement is under way, though the server answers others', {
  timeout: 180_000,
}, async ({ proxy, expect, onTestFinished }) => {
  const program = { cwd: '/tmp', env: settingsFor(proxy.url) }
  await runProgram(['migrate'], program)
  const frozen = proxy.freezeAfter('from vitalsync.profiles')
  const gaps = startProgram(['gaps'], program)
  onTestFinished(() => gaps.kill('SIGKILL'))
  await frozen

  await gaps.said(/^Postgres has a statement under way for a minute: waiting for it, for up to 10 minutes$/m)
  expect(gaps.stderr()).not.toContain('does not answer')
})

/** Stops a command while it loads its settings. */
const stopsEarly = `--import data:text/javascript,${encodeURIComponent(
  "process.on('newListener', (name) => name === 'SIGHUP' && queueMicrotask(() => process.emit('SIGTERM')))",
)}`

test.concurrent('a command that is stopped while it loads its settings ends as soon as any other', {
  timeout: 180_000,
}, async ({ proxy, expect, onTestFinished }) => {
  const frozen = proxy.freezeAfter('from vitalsync.profiles')
  const env = { ...settingsFor(proxy.url), NODE_OPTIONS: stopsEarly }
  const gaps = startProgram(['gaps'], { cwd: '/tmp', env })
  onTestFinished(() => gaps.kill('SIGKILL'))
  await frozen
  proxy.silence('to-server', 'to-client')

  const { code, stderr } = await gaps.ended
  expect(stderr).toContain('ended without waiting any longer')
  expect(code).toBe(1)
})
