import { parentPort, workerData } from 'node:worker_threads'
import fastify from 'fastify'
import { createLog } from '../../src/base/log.ts'
import { startService } from '../../src/service/server.ts'

/**
 * The service under measure and, in the same thread, a bare Fastify route that sends the same bytes from memory: what
 * the machine could do if there were no tokens, no database and no promises. The other thread is the client.
 */
const { databaseUrl, bodies } = workerData as { databaseUrl: string; bodies: Map<string, string> }
const log = createLog({ level: 'error' })
const service = await startService({
  databaseUrl,
  port: 0,
  log,
  limits: { requestsPerMinute: 100_000_000, tokenRequestsPerMinute: 100_000_000 },
})
const bytes = new Map([...bodies].map(([externalId, body]) => [externalId, Buffer.from(body)]))
const bare = fastify({ logger: false })
bare.get('/bare/:externalId', (request, reply) => {
  const { externalId } = request.params as { externalId: string }
  return reply.type('application/json').send(bytes.get(externalId))
})
const bareUrl = await bare.listen({ port: 0, host: '127.0.0.1' })

parentPort?.once('message', async () => {
  await bare.close()
  await service.close()
  parentPort?.close()
})
parentPort?.postMessage({ url: service.url, bareUrl })
