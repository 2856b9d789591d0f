import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { categoricalArchetypes, ordinalArchetypes } from '../../../src/base/contract/archetype.ts'
import { comparisonNames } from '../../../src/base/contract/comparison.ts'
import { comparedSubjects } from '../../../src/service/derive/days/references.ts'
import { archetypeThresholds } from '../../../src/service/derive/model/archetype-model.ts'
import { biomarkerForms } from '../../../src/service/derive/model/biomarker-catalogue.ts'
import { factorGoals, factorUnits, modelVersion } from '../../../src/service/derive/model/model.ts'
import { type ScoreDefinition, scoreDefinitions } from '../../../src/service/derive/model/score-definitions.ts'

const page = await readFile(new URL('../../../docs/reference/derivation.md', import.meta.url), 'utf8')

/** Rows of the table under a heading, as trimmed cells. */
function table(heading: string): string[][] {
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

test('the page lists every biomarker with its unit', () => {
  const listed = table('Biomarkers').map(([type, unit]) => [type, unit])
  expect(listed).toEqual(Object.entries(biomarkerForms).map(([type, { unit }]) => [type, unit]))
})

test('every factor with its unit and goal', () => {
  const usual: Record<string, number> = { ...factorGoals, steps: 10000, sleep_duration: 480 }
  const expected = Object.entries(factorUnits).map(([name, unit]) => [name, unit, String(usual[name] ?? 'personal')])
  expect(
    table('Factors')
      .map((cells) => cells.slice(0, 3))
      .toSorted(),
  ).toEqual(expected.toSorted())
})

test('every score with its weights, the required factor in bold', () => {
  const expected = Object.entries<ScoreDefinition>(scoreDefinitions).map(([name, { requiredFactor, weights }]) => [
    name,
    Object.entries(weights)
      .map(([factor, weight]) => `${factor === requiredFactor ? `**${factor}**` : factor} ${weight}`)
      .join(', '),
  ])
  expect(table('Scores')).toEqual(expected)
})

test('every archetype with its values, and the model gives all of the contract', () => {
  expect(table('Archetypes').map((cells) => cells.slice(0, 2))).toEqual(
    Object.entries(ordinalArchetypes).map(([name, values]) => [name, values.join(', ')]),
  )
  for (const name of categoricalArchetypes) expect(page).toContain(`\`${name}\``)
  expect(Object.keys(archetypeThresholds).toSorted()).toEqual(Object.keys(ordinalArchetypes).toSorted())
})

test('every comparison, and the name of the model', () => {
  expect(comparedSubjects.map(({ name }) => name)).toEqual([...comparisonNames])
  for (const name of comparisonNames.slice(5)) expect(page).toContain(`\`${name}\``)
  expect(page).toContain(`\`${modelVersion}\``)
})
