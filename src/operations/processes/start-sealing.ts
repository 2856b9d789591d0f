import type { Log } from '../../base/log.ts'
import { MINUTE } from '../../base/time/units.ts'
import { sqlState } from '../../pipeline/warehouse/postgres/sql-errors.ts'
import { sealAnew } from '../../pipeline/warehouse/seals/seal-anew.ts'
import type { Pipeline } from '../pipeline.ts'

const sealEveryMs = 10 * MINUTE

/**
 * Seals again with the first key the secrets that another key sealed: at the start, and while there are two keys again and again, for other
 * processes may still seal with the former one. Work continues meanwhile.
 */
export function startSealing(
  { pool, tokenKeys }: Pick<Pipeline, 'pool' | 'tokenKeys'>,
  log: Log,
): { close(): Promise<void> } {
  let isStopping = false
  const seal = async () => {
    try {
      const tokens = await sealAnew(pool, tokenKeys, () => isStopping)
      if (tokens > 0) log.info({ tokens }, 'sealed tokens with the first key')
    } catch (error) {
      log.warn({ code: sqlState(error) }, 'could not seal with the first key; `vitalsync doctor` says more')
    }
  }
  let sealing = seal()
  const timer = setInterval(() => {
    sealing = sealing.then(seal)
  }, sealEveryMs)
  if (tokenKeys.length < 2) clearInterval(timer)
  return {
    async close() {
      isStopping = true
      clearInterval(timer)
      await sealing
    },
  }
}
