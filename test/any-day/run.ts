/**
 * Runs the suite under a shifted clock, in another time zone and in another order.
 *
 *   npm run any-day                                                   a day of the list and an order, chosen by today's date
 *   npm run any-day -- --at +40d --zone Pacific/Auckland              this day
 *   npm run any-day -- --at 2028-02-29T12:00 --zone UTC test/service  some of the tests
 *   npm run any-day -- --seed 41                                      this order
 *   npm run any-day -- --project pure                                 these projects of Vitest
 *   node test/any-day/run.ts --program test/browser/pictures.ts       another program than Vitest
 *
 * libfaketime shifts the clock of Vitest, of its workers, of Postgres, of Redis and of every program that a test starts.
 * The shifted clock runs on. The monotonic clock stays as it is: timers and durations are real.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findClockLibrary, forgetTheDead, withoutWaits } from './clock-library.ts'
import { planRun, shiftMs } from './days.ts'

const { day, again, program } = planRun(process.argv.slice(2), Date.now())

const library = findClockLibrary()
if (!library) {
  process.stderr.write('any-day needs libfaketime: apt-get install faketime (a package of Debian and Ubuntu)\n')
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'vitalsync-any-day-'))
chmodSync(folder, 0o755) // for Postgres, which does not run as root
const shifting = withoutWaits(library, join(folder, 'libfaketime.so'))
const seconds = Math.round(shiftMs(day, Date.now()) / 1000)
const start = new Date(Date.now() + seconds * 1000).toLocaleString('sv', { timeZone: day.zone })
process.stdout.write(`The clock shows ${start} in ${day.zone}. The same again:\n`)
process.stdout.write(`  npm run any-day -- ${again.join(' ')}\n`)

// Engines that run already have a clock of their own.
const { TEST_DATABASE_URL: _, TEST_REDIS_URL: __, SERVICE_URL: ___, ...environment } = process.env
const child = spawn(process.execPath, program, {
  stdio: 'inherit',
  env: {
    ...environment,
    // jemalloc asks for the time while it starts, and libfaketime allocates memory while it starts: redis-server, which
    // has jemalloc, waits for itself. With libc first, its allocator is libc's.
    LD_PRELOAD: `${shifting} libc.so.6`,
    FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NODE_OPTIONS: `--import ${new URL('./children.ts', import.meta.url).href}`,
    TZ: day.zone,
  },
})
const [code] = await once(child, 'exit')
forgetTheDead()
rmSync(folder, { recursive: true })
process.exitCode = code ?? 1
