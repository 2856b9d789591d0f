import './jumping-date.ts'
import { readConfig } from '../../config/env.ts'
import { createLog } from '../../src/base/log.ts'
import { requireGivenAddresses } from '../../src/operations/addresses.ts'
import { openPipeline } from '../../src/operations/pipeline.ts'
import { startWorker } from '../../src/operations/processes/start-worker.ts'
import { parsePartList } from '../../src/pipeline/fleet/queue-parts.ts'
import { machineNow } from '../../src/pipeline/warehouse/postgres/database-clock.ts'

/**
 * A worker process that a test can kill. Prints `ready` when it works, and its machine's time on SIGUSR2. Its lease is short: a test need not wait half a
 * minute until another worker takes its jobs over.
 */
const [settings = '{}', leaseMs = '2000', partList = ''] = process.argv.slice(2)
const parts = parsePartList(partList)
const config = readConfig(JSON.parse(settings))
const log = createLog({ level: config.logLevel })
const leave = (error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(3)
}
const pipeline = await openPipeline({ config, addresses: requireGivenAddresses(config), log, onSkewed: leave })
const working = startWorker({
  pipeline,
  config,
  log,
  leaseMs: Number(leaseMs),
  onSilent: leave,
  ...(parts ? { parts } : {}),
})
process.on('SIGTERM', async () => {
  await working.close()
  await pipeline.close()
  process.exit(0)
})
process.on('SIGUSR2', () => process.stdout.write(`clock ${machineNow()}\n`))
process.stdout.write('ready\n')
