import { HOUR } from '../../src/base/time/units.ts'

/** The machine's clock of this process, which SIGHUP sets two hours ahead. */
const machineNow = Date.now
let aheadMs = 0
Date.now = () => machineNow() + aheadMs
process.on('SIGHUP', () => {
  aheadMs = 2 * HOUR
})
