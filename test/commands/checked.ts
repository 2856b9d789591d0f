import { expect } from 'vitest'
import { jsonSchemas } from '../../src/commands/json.ts'
import type { World } from './world.ts'

type Objects = Array<Record<string, unknown>>
export type Checked = (name: keyof typeof jsonSchemas, ...words: string[]) => Promise<Objects>

/** Runs a command with --json and holds every line against its schema. */
export async function checkedIn(world: World, name: keyof typeof jsonSchemas, ...words: string[]): Promise<Objects> {
  const objects = await world.json(...name.split(' '), ...words)
  for (const object of objects) {
    expect(jsonSchemas[name].safeParse(object).error?.issues, `${name}: ${JSON.stringify(object)}`).toBeUndefined()
  }
  return objects as Objects // each was just found to be an object of its schema
}
