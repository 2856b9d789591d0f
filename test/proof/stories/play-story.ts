import pg from 'pg'
import { openWarehousePool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import type { Situations } from '../../simulation/situations.ts'
import { createWorld } from '../../simulation/world.ts'
import { installCutter } from './cut-connections.ts'
import { openSavedCopy } from './saved-copy.ts'
import { createTwinLine, type StoryDatabase, type TwinLine } from './twin-line.ts'
import { installVirtualClock } from './virtual-clock.ts'

export const STEPS = 120

export type OpenStoryDatabase = StoryDatabase & {
  /** How often the whole state was compared. */
  comparisons(): number
  close(): Promise<void>
}

/** Makes a migrated, empty database one for stories. */
export async function openStoryDatabase(databaseUrl: string): Promise<OpenStoryDatabase> {
  const admin = new pg.Client({ connectionString: databaseUrl })
  admin.on('error', () => undefined) // the query under way fails with the error
  await admin.connect()
  await installVirtualClock(admin, new URL(databaseUrl).pathname.slice(1))
  const copy = await openSavedCopy(admin)
  const name = 'stories'
  const pool = openWarehousePool({ databaseUrl, connectionsMax: 4, name, pipeline: true })
  const cutter = installCutter(pool)
  const counts = { comparisons: 0 }
  return {
    ...{ pool, admin, copy, cutter, counts },
    comparisons: () => counts.comparisons,
    async close() {
      await pool.end()
      await admin.end()
    },
  }
}

/** Where the model and the real warehouse differ first, or a promise is broken. */
export type StoryFinding = {
  readonly seed: number
  /** Counted from 1. Zero: at rest, after all steps. */
  readonly step: number
  readonly violations: readonly string[]
  readonly story: readonly string[]
}

type Story = {
  readonly seed: number
  readonly steps?: number
  readonly situations?: Situations
  readonly rests?: boolean
}

/** Plays one story on the model and on the real warehouse, and compares both after each event. */
export async function playStory(
  database: StoryDatabase,
  { seed, steps = STEPS, situations, rests = false }: Story,
): Promise<StoryFinding | undefined> {
  const zone = process.env['TZ']
  let line: TwinLine | undefined
  const openLine = (parts: Parameters<typeof createTwinLine>[1]) => {
    line = createTwinLine(database, parts)
    return line
  }
  const world = await createWorld(seed, { openLine, ...(situations ? { situations } : {}) })
  const story: string[] = []
  try {
    for (let step = 1; step <= steps; step += 1) {
      story.push(await world.step())
      const violations = await world.violations()
      if (violations.length > 0) return { seed, step, violations, story }
    }
    const left = rests ? await world.rest() : []
    return left.length > 0 ? { seed, step: 0, violations: left, story } : undefined
  } finally {
    await world.close()
    await line?.close()
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  }
}

/** A finding as a person reads it: the steps up to the first difference, and what differs. */
export const describeFinding = ({ seed, step, violations, story }: StoryFinding): string =>
  [
    `story ${seed}, ${step === 0 ? 'at rest' : `step ${step}`}:`,
    ...story.map((said, index) => `  ${index + 1}. ${said}`),
    ...violations.map((violation) => `  ! ${violation}`),
  ].join('\n')
