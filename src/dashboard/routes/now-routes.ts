import { z } from 'zod'
import { defineRead } from '../dashboard-routes.ts'
import type { openNow } from '../read-now.ts'

export const nowRoutes = (now: ReturnType<typeof openNow>) => [
  defineRead({ name: 'now', query: z.object({}), answer: () => now.read() }),
]
