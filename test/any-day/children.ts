import { ChildProcess } from 'node:child_process'

/**
 * Every Node process of a run under a shifted clock loads this file first. It hands the shifted clock on to each child
 * process. The engines and the programs are started with a clean environment, so they would otherwise have the real
 * clock, and the tests that talk to them a shifted one.
 */
const handedOn = ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC', 'NODE_OPTIONS', 'TZ']

type Spawned = { spawn(options: { envPairs: string[] }): unknown }

const prototype = ChildProcess.prototype as unknown as Spawned
const spawn = prototype.spawn
prototype.spawn = function (options) {
  // Names memory of libfaketime that belongs to the parent: a child of another user cannot open that memory, and ends.
  const ownPairs = options.envPairs.filter((pair) => !pair.startsWith('FAKETIME_SHARED='))
  const named = new Set(ownPairs.map((pair) => pair.split('=', 1)[0]))
  const missing = handedOn.filter((name) => !named.has(name) && process.env[name] !== undefined)
  return spawn.call(this, {
    ...options,
    envPairs: [...ownPairs, ...missing.map((name) => `${name}=${process.env[name]}`)],
  })
}
