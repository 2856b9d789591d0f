import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChance } from '../../simulation/stage.ts'
import type { Room } from './rooms.ts'

/** Lines of source that the short form mutates. A line has about one mutant; with the worlds of the simulation two cores judge about two in a second. */
const SAMPLE_LINES = 150
/** Each room first runs all of its tests, for up to a minute. */
const SAMPLE_ROOMS = 2

export type Sample = { readonly room: Room; readonly only: readonly string[] }

/** Files of listed rooms without engines, in an order that the seed chooses, up to a number of lines and of rooms. */
export function sampleOfRooms(root: string, rooms: readonly Room[], seed: number): Sample[] {
  const chance = createChance(seed)
  const candidates = rooms
    .filter(({ engines, isListed }) => isListed && !engines)
    .flatMap((room) =>
      globSync([...room.sources], { cwd: root }).map((file) => ({ room, file, order: chance(1 << 30) })),
    )
    .toSorted((a, b) => a.order - b.order)
  const chosen: typeof candidates = []
  let lines = 0
  for (const candidate of candidates) {
    const length = readFileSync(join(root, candidate.file), 'utf8').split('\n').length
    const names = new Set([...chosen, candidate].map(({ room }) => room.name))
    if (lines + length > SAMPLE_LINES || names.size > SAMPLE_ROOMS) continue
    lines += length
    chosen.push(candidate)
  }
  return [...Map.groupBy(chosen, ({ room }) => room)].map(([room, files]) => ({
    room,
    only: files.map(({ file }) => file).toSorted(),
  }))
}
