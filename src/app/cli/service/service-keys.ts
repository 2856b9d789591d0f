import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from '../options.ts'

export function declareServiceKeys(service: Command, cli: CliProcess): void {
  const keys = service.command('keys').description('the credentials of the Profile Service')
  declareCreate(keys, cli)
  declareList(keys, cli)
  declareRevoke(keys, cli)
}

type CreateCliOptions = { account: string; app: boolean; label: string; json: boolean }

function declareCreate(keys: Command, cli: CliProcess): void {
  keys
    .command('create')
    .description('create a key; its secret is shown now and never again')
    .option('--account <name>', 'account of the key; created when it does not exist', 'default')
    .option('--app', 'an appId and appSecret, in place of a clientId and clientSecret', false)
    .option('--label <words>', 'note about the key', '')
    .addOption(jsonOption('print the key as JSON'))
    .addHelpText(
      'after',
      examples('vitalsync service keys create --account acme', 'vitalsync service keys create --app --json'),
    )
    .action(async ({ json, app, ...options }: CreateCliOptions) => {
      const { createServiceKey } = await import('../../commands/service/service-keys.ts')
      cli.exit(await createServiceKey(cli.context({ json }), { ...options, kind: app ? 'app' : 'client' }))
    })
}

function declareList(keys: Command, cli: CliProcess): void {
  keys
    .command('list')
    .description('show every key without its secret')
    .addOption(jsonOption('print the keys as JSON'))
    .addHelpText('after', examples('vitalsync service keys list --json'))
    .action(async ({ json }: { json: boolean }) => {
      const { listServiceKeys } = await import('../../commands/service/service-keys.ts')
      cli.exit(await listServiceKeys(cli.context({ json })))
    })
}

function declareRevoke(keys: Command, cli: CliProcess): void {
  keys
    .command('revoke')
    .description('end a key and every token that descends from it, those of profiles too, at once')
    .argument('<id>', 'a clientId or appId')
    .addHelpText('after', examples('vitalsync service keys revoke 4fRk0w'))
    .action(async (publicId: string) => {
      const { revokeServiceKey } = await import('../../commands/service/service-keys.ts')
      cli.exit(await revokeServiceKey(cli.context({ json: false }), { publicId }))
    })
}
