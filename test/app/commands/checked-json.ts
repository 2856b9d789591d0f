import { expect } from 'vitest'
import { jsonResultSchemas } from '../../../src/app/results/json-results.ts'
import type { CommandWorld } from './command-world.ts'

type Objects = Array<Record<string, unknown>>
export type Checked = (name: keyof typeof jsonResultSchemas, ...words: string[]) => Promise<Objects>

/** Runs a command with --json and checks every line against the command's schema. */
export async function checkedIn(
  world: CommandWorld,
  name: keyof typeof jsonResultSchemas,
  ...words: string[]
): Promise<Objects> {
  const objects = await world.json(...name.split(' '), ...words)
  for (const object of objects) {
    expect(
      jsonResultSchemas[name].safeParse(object).error?.issues,
      `${name}: ${JSON.stringify(object)}`,
    ).toBeUndefined()
  }
  return objects as Objects // each was just found to be an object of its schema
}
