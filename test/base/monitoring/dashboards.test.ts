import { expect, test } from 'vitest'
import { listKnownMetrics, unknownMetricsIn } from '../../support/known-metrics.ts'
import { readDashboards } from './dashboards.ts'

const boards = await readDashboards()

test('there are three dashboards, whose panels have ids and places of their own', () => {
  expect(boards.map(({ name }) => name)).toEqual(['night.json', 'service.json', 'upstream.json'])
  for (const { uid, name, panels } of boards) {
    expect(name).toBe(`${uid.replace('vitalsync-', '')}.json`)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length)
  }
})

test('panels ask for metrics that exist, and name only labels that these have', () => {
  const { pipeline, service } = listKnownMetrics()
  const labels = new Set([...[...pipeline, ...service].flatMap((metric) => metric.labels), 'instance'])
  for (const { name, panels } of boards)
    for (const { title, targets } of panels)
      for (const { expr, legendFormat } of targets) {
        expect({ name, title, unknown: unknownMetricsIn(expr) }).toEqual({ name, title, unknown: [] })
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
        const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */))
        expect([...shown, ...grouped].filter((label) => !labels.has(label))).toEqual([])
      }
})
