import { readConfig } from '../../config/env.ts'
import { createLog } from '../../src/base/log.ts'
import { requireGivenAddresses } from '../../src/operations/addresses.ts'
import { openPipeline } from '../../src/operations/pipeline.ts'
import { startProducing } from '../../src/operations/processes/start-producing.ts'

/** A process that helps to enqueue runs and works on no job. It prints its log, and `ready` when it begins. */
const config = readConfig(JSON.parse(process.argv[2] ?? '{}'))
const log = createLog({ level: 'info' })
const leave = (error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(3)
}
const pipeline = await openPipeline({ config, addresses: requireGivenAddresses(config), log, onSkewed: leave })
startProducing({ pipeline, config, log })
process.stdout.write('ready\n')
