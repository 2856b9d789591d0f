import { chromium, type Page } from 'playwright-core'
import { type Measure, median, rounded, type ScreensMessage, spreadOf } from '../bench/measure.ts'

/**
 * A process of `npm run bench -- dashboard`: opens the pages of the dashboard at an address, and sends how long they took.
 *   node test/browser/measure-screens.ts http://127.0.0.1:8360 100000
 */

const ROUNDS = 7
const SCROLLED_MS = 4000

/** The pages as a person meets them: from the click, or the address, to the frame in which what they came for is there. */
async function measureScreens(url: string, people: number): Promise<Measure[]> {
  const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  await context.addInitScript(addPageClock)
  const page = await context.newPage()
  const timed = async (name: string, goalMs: number, timeOnce: (round: number) => Promise<number>) => {
    const took: number[] = []
    for (let round = 0; round < ROUNDS; round++) took.push(await timeOnce(round))
    say(`  ${name.padEnd(36)} ${spreadOf(took)} ms`)
    return measureOf(name, median(took), { unit: 'ms', goal: `< ${goalMs}`, holds: median(took) < goalMs })
  }
  const someone = (round: number) => `/people/${1 + 100 * ((round * 41 + 5) % (people / 100))}`
  const map = (query: string) => `${url}/coverage?stream=scores&${query}`
  const measures = [
    await timed('Now by its address', 1000, () => timeToSee(page, `${url}/`, '.sentence')),
    await timed('a person by a click, to the days', 200, (round) => timeInPage(page, someone(round), '.strips .cell')),
    await timed('Now by a click', 100, async () => {
      await timeInPage(page, '/failures', 'table')
      return timeInPage(page, '/', '.sentence')
    }),
    await timed('coverage map by its address', 1000, (round) =>
      timeToPaint(page, map(`days=90&search=${'person-'.slice(0, round + 1)}`)),
    ),
  ]
  for (const days of [90, 365]) {
    await timeToPaint(page, map(`days=${days}`))
    const { framesPerSecond, longestMs } = await page.evaluate<Frames>(`pageClock.scroll(${SCROLLED_MS})`)
    const told = `${framesPerSecond.toFixed(1)} frames/s, the longest took ${longestMs.toFixed(0)} ms`
    say(`  scrolling ${days} days: ${told}`)
    const goal = { unit: 'frames/s', goal: '≥ 50', holds: framesPerSecond >= 50 }
    measures.push(measureOf(`scrolling ${days} days`, framesPerSecond, goal))
  }
  await browser.close()
  return measures
}

type Frames = { readonly framesPerSecond: number; readonly longestMs: number }

const measureOf = (name: string, value: number, rest: Pick<Measure, 'unit' | 'goal' | 'holds'>): Measure => ({
  name: `dashboard, ${name}`,
  value: rounded(value),
  ratio: null,
  against: null,
  ...rest,
})

/** From the begin of the load. */
async function timeToSee(page: Page, address: string, selector: string): Promise<number> {
  await page.goto(address, { waitUntil: 'commit' })
  return page.evaluate<number>(`pageClock.seen(${JSON.stringify(selector)})`)
}

const timeInPage = (page: Page, path: string, selector: string): Promise<number> =>
  page.evaluate<number>(`pageClock.follow(${JSON.stringify(path)}, ${JSON.stringify(selector)})`)

/** From the begin of the load to the frame in which cells are drawn. */
async function timeToPaint(page: Page, address: string): Promise<number> {
  await page.goto(address, { waitUntil: 'commit' })
  return page.evaluate<number>('pageClock.painted()')
}

/** Runs in each page. Graphics are drawn by the processor: a frame is one that the page could draw. */
function addPageClock(): void {
  const nextFrame = () => new Promise(requestAnimationFrame)
  const when = async (isThere: () => unknown) => {
    while (!isThere()) await nextFrame()
    return performance.now()
  }
  const isDrawn = () => {
    const canvas = document.querySelector('canvas')
    const context = canvas?.width ? canvas.getContext('2d') : undefined
    const newest = context?.getImageData(Math.floor((canvas?.width ?? 0) * 0.9), 24, 40, 60)
    return newest?.data.some((value) => value > 0)
  }
  const pageClock = {
    seen: (selector: string) => when(() => document.querySelector(selector)),
    painted: () => when(isDrawn),
    async follow(path: string, selector: string) {
      const startedAtMs = performance.now()
      history.pushState(null, '', path)
      dispatchEvent(new PopStateEvent('popstate'))
      await nextFrame()
      return (await when(() => document.querySelector(selector))) - startedAtMs
    },
    /** As a hand scrolls, and then in leaps. */
    async scroll(lastsMs: number) {
      const scroller = document.querySelector('.map')
      const startedAtMs = performance.now()
      let [frames, longestMs, before] = [0, 0, startedAtMs]
      while (before - startedAtMs < lastsMs) {
        scroller?.scrollBy(0, frames % 120 < 100 ? 60 : 5000)
        await nextFrame()
        const atMs = performance.now()
        longestMs = Math.max(longestMs, atMs - before)
        before = atMs
        frames += 1
      }
      return { framesPerSecond: frames / ((before - startedAtMs) / 1000), longestMs }
    },
  }
  Object.assign(globalThis, { pageClock })
}

const say = (said: string) => void process.send?.({ said } satisfies ScreensMessage)
const [url = '', people = '100'] = process.argv.slice(2)
process.send?.({ measures: await measureScreens(url, Number(people)) } satisfies ScreensMessage)
process.disconnect?.()
