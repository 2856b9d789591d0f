import { readdir, readFile } from 'node:fs/promises'
import { z } from 'zod'

const folder = new URL('../../../config/grafana/', import.meta.url)

const boardSchema = z.object({
  uid: z.string(),
  title: z.string(),
  panels: z.array(
    z.object({
      id: z.int(),
      title: z.string(),
      datasource: z.object({ uid: z.literal(`$${'{source}'}`) }),
      gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).min(1),
    }),
  ),
})

/** The dashboards for Grafana, by their file. */
export async function readDashboards() {
  const names = (await readdir(folder)).toSorted()
  return Promise.all(
    names.map(async (name) => ({
      name,
      ...boardSchema.parse(JSON.parse(await readFile(new URL(name, folder), 'utf8'))),
    })),
  )
}
