import { expect } from 'vitest'
import { createSituations } from '../../simulation/situations.ts'
import { test } from '../../support/fixtures.ts'
import { describeFinding, openStoryDatabase, playStory } from './play-story.ts'

/** A few: the proof plays hundreds. */
const seeds = [1, 2, 3, 4, 5, 6]
const STEPS_OF_SOME = 60

test('the model and the real warehouse are alike after every step of a story', async ({ warehouseUrl }) => {
  const database = await openStoryDatabase(warehouseUrl)
  const situations = createSituations()
  for (const seed of seeds) {
    const finding = await playStory(database, { seed, situations, steps: STEPS_OF_SOME })
    expect(finding && describeFinding(finding)).toBeUndefined()
  }
  expect(database.comparisons()).toBeGreaterThan(100)
  expect(situations.counts.size).toBeGreaterThan(10)
  await database.close()
})

test('a story names the first step at which the real warehouse is otherwise', async ({ warehouseUrl }) => {
  const database = await openStoryDatabase(warehouseUrl)
  // The database itself does otherwise than the program says: a push uncovers nothing.
  await database.admin.query(`
    create function virtual.keep_covered() returns trigger language plpgsql as $$
      begin new.covered := old.covered; return new; end $$;
    create trigger keep_covered before update on vitalsync.ledger for each row
      when (new.generation > old.generation) execute function virtual.keep_covered()`)

  const findings = []
  for (let seed = 1; seed <= 40 && findings.length === 0; seed += 1) {
    const finding = await playStory(database, { seed })
    if (finding) findings.push(finding)
  }

  const [finding] = findings
  expect(finding?.violations.join()).toContain('ledger: only the warehouse has')
  expect(finding?.story[finding.step - 1]).toContain('outbox.markSent')
  expect(finding?.story).toHaveLength(finding?.step ?? 0)
  await database.close()
})
