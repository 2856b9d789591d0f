import type { FastifyInstance } from 'fastify'
import type { Log } from '../../base/log.ts'
import type { TokenCache } from '../store/credentials/token-cache.ts'
import type { DerivedReader } from '../store/derived-reader.ts'
import type { ProfileSearch } from '../store/profile-search.ts'
import type { Queryable, ServicePool } from '../store/service-pool.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'
import type { RefusalPacing } from './refusal-pacing.ts'
import type { RequestBodies } from './request-bodies.ts'

/** Milliseconds since 1970. The sandbox passes a clock that can be moved. */
export type Clock = () => number

export type ServiceApp = FastifyInstance

/** The parts of a running service that every route works with. */
export type ServiceContext = {
  pool: ServicePool
  /** The same pool for statements that only read: it gives up a database that stands still. */
  reads: Queryable
  tokenCache: TokenCache
  derived: DerivedReader
  profileSearch: ProfileSearch
  /** Bounds the memory of request bodies, and how many uploads run at once. */
  bodies: RequestBodies
  /** Limits how many searches run at once. */
  searchLimiter: ConcurrencyLimiter
  /** Paces callers who guess secrets and tokens. */
  refusals: RefusalPacing
  clock: Clock
  log: Log
}
