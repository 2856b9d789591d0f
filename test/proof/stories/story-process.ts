import { createSituations } from '../../simulation/situations.ts'
import { openStoryDatabase, playStory, type StoryFinding } from './play-story.ts'

/** The answer of a process to a seed that it was given. */
export type PlayedStory = {
  readonly seed: number
  readonly finding: StoryFinding | undefined
  readonly situations: ReadonlyArray<readonly [string, number]>
  readonly comparisons: number
}

/** A story that takes longer hangs: all that it waits for is on this machine. */
const STORY_MAX_MS = 120_000

/** Plays the stories whose seeds its parent sends, on a database of its own, one after another. */
async function main(databaseUrl: string): Promise<void> {
  const database = await openStoryDatabase(databaseUrl)
  const play = async (seed: number) => {
    const situations = createSituations()
    const hung = setTimeout(() => process.exit(3), STORY_MAX_MS)
    const before = database.comparisons()
    const finding = await playStory(database, { seed, situations, rests: seed % 10 === 0 })
    clearTimeout(hung)
    const comparisons = database.comparisons() - before
    const played: PlayedStory = { seed, finding, situations: [...situations.counts], comparisons }
    process.send?.(played)
  }
  process.on('message', (seed: number) => {
    play(seed).catch((error: unknown) => {
      const violations = [`the story ended by ${error instanceof Error ? error.stack : error}`]
      const finding = { seed, step: 0, violations, story: [] }
      process.send?.({ seed, finding, situations: [], comparisons: 0 } satisfies PlayedStory)
    })
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.('ready')
}

await main(process.argv[2] ?? '')
