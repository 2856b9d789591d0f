import { pulledStreams } from '../../config/streams.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createQuarantine } from '../pipeline/warehouse/quarantine/stored-quarantine.ts'
import { createDriftWatch } from '../pipeline/warehouse/readings/stored-drift.ts'

/** The quarantine. Records that a replay stores are compared with what is known of their streams, as those of a reading are. */
export const quarantineOf = (pool: Pool) =>
  createQuarantine({
    pool,
    streams: pulledStreams,
    async openExaminer() {
      const { knownRecordsOf } = await import('./contract/known-records.ts') // it loads the model of the service
      return createDriftWatch({ pool, knownOf: knownRecordsOf })
    },
  })
