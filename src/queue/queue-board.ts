import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { lanes } from '../fleet/budget.ts'
import type { QueueEngine } from './engine.ts'

type ServerAdapter = Parameters<typeof createBullBoard>[0]['serverAdapter']
type BoardQueues = Parameters<ServerAdapter['setQueues']>[0]
type BoardRoutes = Parameters<ServerAdapter['setApiRoutes']>[0]

type BoardRequest = {
  readonly params: Record<string, string>
  readonly query: Record<string, string>
  readonly body: Record<string, unknown>
}

/** A question to the queues, or a change of theirs, as Bull Board's page sends it. */
export type BoardRoute = {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH'
  readonly path: string
  readonly isRead: boolean
  /** Jobs are retried, promoted and cleaned away; no other change is made here. */
  readonly isAllowed: boolean
  /** `mayAct`: else each change is refused by the board as well. */
  answer(request: BoardRequest, mayAct: boolean): Promise<{ status: number; body: unknown }>
}

export type QueueBoard = {
  readonly routes: readonly BoardRoute[]
  /** The files of its page, by the name that the page asks for. */
  readonly files: ReadonlyMap<string, string>
  readonly scripts: readonly string[]
  readonly styles: readonly string[]
  readonly settings: Readonly<Record<string, unknown>>
}

/** A job's data is not to be written by hand, nor a queue thrown away: the pipeline would not know of it. */
const allowedChanges = /\/(retry|promote|clean)(\/:queueStatus)?$/

/** Bull Board on the queues of all lanes in all parts, without the server that it brings. */
export async function openQueueBoard(engine: QueueEngine): Promise<QueueBoard> {
  const boards = { look: boardOf(engine, true), act: boardOf(engine, false) }
  const folder = dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'))
  const entry = await readFile(join(folder, 'dist/index.ejs'), 'utf8')
  const named = (pattern: RegExp) => [...entry.matchAll(pattern)].map(([, name = '']) => name)
  return {
    routes: boards.look.routes.flatMap((route, index) => routesOf(boards, route, index)),
    files: await filesIn(join(folder, 'dist/static')),
    scripts: named(/src="(static\/js\/[^"]+)"/g),
    styles: named(/href="(static\/css\/[^"]+)"/g),
    settings,
  }
}

type Board = { readonly queues: BoardQueues; readonly routes: BoardRoutes }

const settings = { boardTitle: 'Queues · vitalsync', hideDocsLink: true, miscLinks: [{ text: 'Dashboard', url: '/' }] }

/** Queues and routes as Bull Board would hand them to a server. */
function boardOf(engine: QueueEngine, readOnlyMode: boolean): Board {
  let queues: BoardQueues | undefined
  let routes: BoardRoutes = []
  const adapter: ServerAdapter = {
    setQueues(given) {
      queues = given
      return adapter
    },
    setApiRoutes(given) {
      routes = given
      return adapter
    },
    setViewsPath: () => adapter,
    setStaticPath: () => adapter,
    setEntryRoute: () => adapter,
    setErrorHandler: () => adapter,
    setUIConfig: () => adapter,
  }
  const parts = Array.from({ length: engine.parts }, (_, part) => part)
  const shown = parts.flatMap((part) =>
    lanes.map((lane) => new BullMQAdapter(engine.queue(lane, part), { readOnlyMode })),
  )
  createBullBoard({ queues: shown, serverAdapter: adapter, options: { uiConfig: settings } })
  return { queues: queues ?? new Map(), routes }
}

function routesOf(
  boards: { look: Board; act: Board },
  { method, route }: BoardRoutes[number],
  index: number,
): BoardRoute[] {
  return [method].flat().flatMap((verb) =>
    [route].flat().map((path) => ({
      method: verb.toUpperCase() as BoardRoute['method'],
      path,
      isRead: verb === 'get',
      isAllowed: allowedChanges.test(path),
      async answer(request, mayAct) {
        const { queues, routes } = mayAct ? boards.act : boards.look
        const told = await routes[index]?.handler({ ...request, queues, uiConfig: settings, headers: {} })
        return { status: told?.status ?? 200, body: told?.body ?? {} }
      },
    })),
  )
}

async function filesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  return new Map(paths.map((path) => [relative(folder, path).replaceAll('\\', '/'), path]))
}
