import { type Command, Option } from 'commander'
import type { Config } from '../../config/env.ts'
import { type Terminal, table } from '../commands/terminal.ts'
import type { Log } from '../log.ts'

type Context = { config: Config; terminal: Terminal; log: Log; signal: AbortSignal }
type OpenContext = (options: { json?: boolean }) => Context

/** `vitalsync service`, its keys and its role. */
export function addServiceCommands(
  program: Command,
  context: OpenContext,
  parts: { port: (text: string) => number },
): void {
  // What follows `keys create` is that command's own, though `service` knows --json as well.
  const service = program
    .enablePositionalOptions()
    .command('service')
    .description('run the Profile Service for real on DATABASE_URL and PORT')
    .enablePositionalOptions()
    .option('--port <n>', 'where it answers; 0 takes a free port (default: PORT)', parts.port)
    .option('--host <address>', 'address it listens on', '0.0.0.0')
    .option('--no-migrate', 'leave the tables alone: for a role that may not change them')
    .option('--json', 'print one line of JSON when ready', false)
    .addHelpText(
      'after',
      '\nExamples:\n  vitalsync service\n  vitalsync service --port 8080 --no-migrate\n  vitalsync service keys create --account acme',
    )
    .action(async (options: { port?: number; host: string; migrate: boolean; json: boolean }) => {
      const { runService } = await import('../commands/service.ts')
      process.exitCode = await runService({ ...context(options), port: undefined, ...options })
    })
  addKeys(service, context)
  addSources(service, context)
  service
    .command('grant')
    .description('give a database role what a running service needs, and nothing else; run as the owner of the tables')
    .argument('<role>', 'the role that will serve')
    .addHelpText('after', '\nExample:\n  vitalsync service grant vitalsync_service')
    .action(async (role: string) => {
      const { terminal, ...rest } = await command(context({}))
      const { grantServiceRights } = await import('../commands/service-keys.ts')
      await grantServiceRights({ ...rest, role })
      terminal.say(`${role} may serve. Start it with --no-migrate.`)
    })
}

function addKeys(service: Command, context: OpenContext): void {
  const keys = service.command('keys').description('the credentials of the Profile Service')
  keys
    .command('create')
    .description('make a key; its secret is shown now and never again')
    .option('--account <name>', 'whose it is; made when there is none of this name', 'default')
    .option('--app', 'an appId and appSecret, in place of a clientId and clientSecret', false)
    .option('--label <words>', 'what it is for', '')
    .option('--json', 'print the key as JSON', false)
    .addHelpText(
      'after',
      '\nExamples:\n  vitalsync service keys create --account acme\n  vitalsync service keys create --app --json',
    )
    .action(async (options: { account: string; app: boolean; label: string; json: boolean }) => {
      const { terminal, ...rest } = await command(context(options))
      const kind = options.app ? 'app' : 'client'
      const { createServiceKey } = await import('../commands/service-keys.ts')
      const made = await createServiceKey({ ...rest, account: options.account, label: options.label, kind })
      const shown = { [`${kind}Id`]: made.publicId, [`${kind}Secret`]: made.secret }
      if (terminal.json) terminal.printJson(shown)
      else for (const [name, value] of Object.entries(shown)) terminal.print(`${name.padEnd(14)}${value}`)
    })
  keys
    .command('list')
    .description('show every key without its secret')
    .addOption(new Option('--json', 'print the keys as JSON').default(false))
    .addHelpText('after', '\nExample:\n  vitalsync service keys list --json')
    .action(async (options: { json: boolean }) => {
      const { terminal, ...rest } = await command(context(options))
      const { listServiceKeys } = await import('../commands/service-keys.ts')
      const listed = await listServiceKeys(rest)
      if (terminal.json) return terminal.printJson(listed)
      const head = ['id', 'kind', 'account', 'label', 'made', 'revoked']
      const day = (date: Date | null) => date?.toISOString().slice(0, 10) ?? ''
      terminal.print(
        table(
          head,
          listed.map((key) => [key.publicId, key.kind, key.account, key.label, day(key.createdAt), day(key.revokedAt)]),
        ),
      )
    })
  keys
    .command('revoke')
    .description('end a key and every token that was had by it, at once')
    .argument('<id>', 'a clientId or appId')
    .addHelpText('after', '\nExample:\n  vitalsync service keys revoke 4fRk0w')
    .action(async (publicId: string) => {
      const { terminal, ...rest } = await command(context({}))
      const { revokeServiceKey } = await import('../commands/service-keys.ts')
      await revokeServiceKey({ ...rest, publicId })
      terminal.say(`${publicId} is revoked.`)
    })
}

function addSources(service: Command, context: OpenContext): void {
  service
    .command('sources')
    .description('say whose word counts where two sources tell of the same time; without a word, show it')
    .argument('[source...]', 'source names or kinds of device, best first; who is not named comes after')
    .option('--account <name>', 'whose people', 'default')
    .option('--reset', 'go back to the order of the model: watch, band, ring, chest strap, phone', false)
    .option('--json', 'print the order as JSON', false)
    .addHelpText(
      'after',
      '\nExamples:\n  vitalsync service sources --account acme ring watch\n  vitalsync service sources --account acme\n  vitalsync service sources --account acme --reset',
    )
    .action(async (sources: string[], options: { account: string; reset: boolean; json: boolean }) => {
      const { terminal, ...rest } = await command(context(options))
      const { serviceSources } = await import('../commands/service-keys.ts')
      const wanted = options.reset ? [] : sources.length > 0 ? sources : undefined
      const done = await serviceSources({ ...rest, account: options.account, sources: wanted })
      if (terminal.json) return terminal.printJson(done)
      terminal.print(done.sources.length === 0 ? 'the order of the model' : done.sources.join(', '))
      if (wanted) terminal.say(`${done.profiles} profiles will be derived anew.`)
    })
}

async function command({ config, log, terminal }: Context) {
  const { databaseOf } = await import('../commands/service.ts')
  return { databaseUrl: databaseOf(config), log, terminal, now: new Date() }
}
