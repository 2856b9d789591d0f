import { readConfig } from '../../config/env.ts'
import { addressesOf, openPipeline } from '../../src/commands/pipeline.ts'
import { startWork } from '../../src/commands/work.ts'
import { createLog } from '../../src/log.ts'

/**
 * A worker that is a process of its own and may be killed. Says `ready` when it works. Its lease is short, so that a
 * test need not wait half a minute until its jobs count as abandoned.
 */
const [settings = '{}', leaseMs = '2000'] = process.argv.slice(2)
const config = readConfig(JSON.parse(settings))
const log = createLog({ level: config.logLevel })
const leave = (error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(3)
}
const pipeline = await openPipeline({ config, addresses: addressesOf(config), log, onSkewed: leave })
const working = startWork({ pipeline, config, log, leaseMs: Number(leaseMs), onSilent: leave })
process.on('SIGTERM', async () => {
  await working.close()
  await pipeline.close()
  process.exit(0)
})
process.stdout.write('ready\n')
