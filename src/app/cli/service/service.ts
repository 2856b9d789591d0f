import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption, parsePort } from '../options.ts'
import { declareServiceGrant } from './service-grant.ts'
import { declareServiceKeys } from './service-keys.ts'
import { declareServiceSources } from './service-sources.ts'
import { declareServiceTokens } from './service-tokens.ts'

type ServiceCliOptions = { port?: number; host: string; migrate: boolean; json: boolean }

export function declareService(program: Command, cli: CliProcess): void {
  const service = program
    .command('service')
    .description('run the Profile Service on DATABASE_URL and PORT')
    .option('--port <n>', 'port to listen on; 0 takes a free port (default: PORT)', parsePort)
    .option('--host <address>', 'address to listen on', '0.0.0.0')
    .option('--no-migrate', 'do not migrate: for a role that may not change tables')
    .addOption(jsonOption('print one line of JSON when ready'))
    .addHelpText(
      'after',
      examples(
        'vitalsync service',
        'vitalsync service --port 8080 --no-migrate',
        'vitalsync service keys create --account acme',
      ),
    )
    .action(async ({ json, ...options }: ServiceCliOptions) => {
      const { runService } = await import('../../commands/service/service.ts')
      cli.exit(await runService(cli.context({ json }), options))
    })
  declareServiceKeys(service, cli)
  declareServiceTokens(service, cli)
  declareServiceSources(service, cli)
  declareServiceGrant(service, cli)
}
