import { expect, test } from 'vitest'
import { grafanaBoards } from '../../../config/grafana-boards.ts'
import { listKnownMetrics, unknownMetricsIn } from '../../support/known-metrics.ts'

test('panels ask for metrics that exist, and name only labels that these have', () => {
  const { pipeline, service } = listKnownMetrics()
  const labels = new Set([...[...pipeline, ...service].flatMap((metric) => metric.labels), 'instance'])
  for (const { name, panels } of grafanaBoards)
    for (const { title, targets } of panels)
      for (const { expr, legendFormat } of targets) {
        expect({ name, title, unknown: unknownMetricsIn(expr) }).toEqual({ name, title, unknown: [] })
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
        const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */))
        expect([...shown, ...grouped].filter((label) => !labels.has(label))).toEqual([])
      }
})
