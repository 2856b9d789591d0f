import type { Command } from 'commander'
import { type CliProcess, examples } from '../options.ts'

export function declareServiceGrant(service: Command, cli: CliProcess): void {
  service
    .command('grant')
    .description(
      'give a database role the privileges of a running service, and no more; run as the owner of the tables',
    )
    .argument('<role>', 'role of the running service')
    .addHelpText('after', examples('vitalsync service grant vitalsync_service'))
    .action(async (role: string) => {
      const { runServiceGrant } = await import('../../commands/service/service-grant.ts')
      cli.exit(await runServiceGrant(cli.context({ json: false }), { role }))
    })
}
