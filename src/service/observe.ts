import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { App, Room } from './route.ts'

/**
 * Counts and logs every request by its operation: never by its address, which holds an externalId, and never with a
 * header, which holds a token.
 */
export function observe(app: App, room: Room): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'vitalsync_service_' })
  const labelNames = ['operation', 'status']
  const requests = new Counter({
    name: 'vitalsync_service_requests_total',
    help: 'Requests by operation and status; cut: the answer was not taken to its end',
    labelNames,
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'vitalsync_service_request_seconds',
    help: 'Time from the first byte of a request to the last of its answer',
    labelNames: ['operation'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  new Gauge({
    name: 'vitalsync_service_database_connections',
    help: 'Connections of the pool by what they do',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, room.pool.idleCount)
      this.set({ state: 'busy' }, room.pool.totalCount - room.pool.idleCount)
      this.set({ state: 'awaited' }, room.pool.waitingCount)
    },
  })

  new Gauge({
    name: 'vitalsync_service_kept_answer_bytes',
    help: 'Memory that answers take which may be sent again',
    registers: [registry],
    collect() {
      this.set(room.derived.keptBytes())
    },
  })

  app.addHook('onResponse', async (request: FastifyRequest, reply: FastifyReply) => {
    const operation = request.routeOptions.config.operation ?? 'none'
    requests.inc({ operation, status: reply.statusCode })
    duration.observe({ operation }, reply.elapsedTime / 1000)
    if (room.log.isLevelEnabled('debug') || reply.statusCode >= 500) {
      const level = reply.statusCode >= 500 ? 'warn' : 'debug'
      const ms = Math.round(reply.elapsedTime * 10) / 10
      room.log[level]({ requestId: request.id, operation, method: request.method, status: reply.statusCode, ms })
    }
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    const operation = request.routeOptions.config.operation ?? 'none'
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) requests.inc({ operation, status: 'cut' })
    })
    done(null, payload)
  })
  return registry
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The name under which a route's requests are counted. */
    operation?: string
  }
}
