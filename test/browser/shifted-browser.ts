import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { pathOf } from '../support/programs.ts'

/** CHROMIUM_PATH names a browser elsewhere than on the PATH. A browser without windows takes half of the processor time. */
export const executablePath = process.env['CHROMIUM_PATH'] ?? pathOf('chromium-headless-shell') ?? pathOf('chromium')

/**
 * Under a shifted clock (npm run any-day) the browser keeps the real one, for libfaketime makes its threads spin, and its
 * pages get the shifted time.
 */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: executablePath ?? '',
    args: ['--no-sandbox', '--disable-gpu'],
    env: { ...process.env, LD_PRELOAD: '', NODE_OPTIONS: '' },
  })

/** The seconds of FAKETIME (`+34560000s`), which libfaketime adds to the clock of this process. */
const shiftMs = Number.parseInt(process.env['FAKETIME'] ?? '0', 10) * 1000

/** Runs in each page before its own scripts: its dates are those of a clock that is ahead by so much. */
function shiftDates(aheadMs: number): void {
  const RealDate = Date
  globalThis.Date = new Proxy(RealDate, {
    apply: () => new RealDate(RealDate.now() + aheadMs).toString(),
    construct: (_, words: [number]) =>
      words.length > 0 ? new RealDate(...words) : new RealDate(RealDate.now() + aheadMs),
    get: (target, name) => (name === 'now' ? () => RealDate.now() + aheadMs : Reflect.get(target, name)),
  })
}

/** The pages of this context have the clock of this process. */
export async function shiftClock(context: BrowserContext): Promise<void> {
  if (shiftMs) await context.addInitScript(shiftDates, shiftMs)
}
