import type { Command } from 'commander'
import { type CliProcess, examples } from '../options.ts'

type RevokeCliOptions = { account: string; profile?: string }

export function declareServiceTokens(service: Command, cli: CliProcess): void {
  service
    .command('tokens')
    .description('the tokens that the Profile Service has issued')
    .command('revoke')
    .description('end every token of an account or of one of its profiles, refresh tokens too, at once')
    .requiredOption('--account <name>', 'account of the tokens')
    .option('--profile <externalId>', 'the tokens of this profile alone')
    .addHelpText(
      'after',
      examples(
        'vitalsync service tokens revoke --account acme',
        'vitalsync service tokens revoke --account acme --profile ada',
      ),
    )
    .action(async ({ account, profile }: RevokeCliOptions) => {
      const { revokeServiceTokens } = await import('../../commands/service/service-tokens.ts')
      cli.exit(await revokeServiceTokens(cli.context({ json: false }), { account, externalId: profile }))
    })
}
