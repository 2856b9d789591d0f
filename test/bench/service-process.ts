import { createLog } from '../../src/base/log.ts'
import { startService } from '../../src/service/server.ts'

/** The Profile Service as it is run, in a process of its own; its database's address is the one argument. */
const [databaseUrl = ''] = process.argv.slice(2)
const log = createLog({ level: 'error' })
const service = await startService({
  databaseUrl,
  port: 0,
  log,
  limits: { requestsPerMinute: 100_000_000, tokenRequestsPerMinute: 100_000_000 },
})
process.once('SIGTERM', () => void service.close().then(() => process.exit(0)))
process.on('disconnect', () => process.exit(0))
process.send?.({ url: service.url })
