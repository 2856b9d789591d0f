import type { ExportName } from '../../service/sandbox/exports/export-writers.ts'
import { sandboxDefaults } from '../sandbox-defaults.ts'
import {
  choiceOption,
  collectValues,
  parseDateOption,
  parsePort,
  parsePositive,
  parseWhole,
  type Verb,
  wordsOf,
} from './options.ts'

export function declareService(program: Verb): void {
  const service = program
    .command('service')
    .description('run the Profile Service on DATABASE_URL and PORT')
    .option('--port <n>', 'port to listen on; 0 takes a free port (default: PORT)', parsePort)
    .option('--host <address>', 'address to listen on', '0.0.0.0')
    .option('--no-migrate', 'do not migrate: for a role that may not change tables')
    .json('print one line of JSON when ready')
    .examples(
      'vitalsync service',
      'vitalsync service --port 8080 --no-migrate',
      'vitalsync service keys create --account acme',
    )
    .does(async () => (await import('../commands/service/service.ts')).runService)
  declareServiceKeys(service)
  declareServiceTokens(service)
  declareServiceSources(service)
  declareServiceGrant(service)
}

function declareServiceGrant(service: Verb): void {
  service
    .command('grant')
    .description(
      'give a database role the privileges of a running service, and no more; run as the owner of the tables',
    )
    .argument('<role>', 'role of the running service')
    .examples('vitalsync service grant vitalsync_service')
    .does(async () => (await import('../commands/service/accounts.ts')).runServiceGrant)
}

function declareServiceKeys(service: Verb): void {
  const keys = service.command('keys').description('the credentials of the Profile Service')
  declareCreate(keys)
  declareList(keys)
  declareRevoke(keys)
}

function declareCreate(keys: Verb): void {
  keys
    .command('create')
    .description('create a key; its secret is shown now and never again')
    .option('--account <name>', 'account of the key; created when it does not exist', 'default')
    .option('--app', 'an appId and appSecret, in place of a clientId and clientSecret', false)
    .option('--label <words>', 'note about the key', '')
    .json('print the key as JSON')
    .examples('vitalsync service keys create --account acme', 'vitalsync service keys create --app --json')
    .does(async () => (await import('../commands/service/accounts.ts')).createServiceKey)
}

function declareList(keys: Verb): void {
  keys
    .command('list')
    .description('show every key without its secret')
    .json('print the keys as JSON')
    .examples('vitalsync service keys list --json')
    .does(async () => (await import('../commands/service/accounts.ts')).listServiceKeys)
}

function declareRevoke(keys: Verb): void {
  keys
    .command('revoke')
    .description('end a key and every token that descends from it, those of profiles too, at once')
    .argument('<id>', 'a clientId or appId')
    .examples('vitalsync service keys revoke 4fRk0w')
    .does(async () => (await import('../commands/service/accounts.ts')).revokeServiceKey)
}

function declareServiceSources(service: Verb): void {
  service
    .command('sources')
    .description(
      'set which source is preferred where two sources have logs of the same time; without sources, show the order',
    )
    .argument('[source...]', 'source names or kinds of device, best first; other sources come after them')
    .option('--account <name>', 'account of the profiles', 'default')
    .option('--reset', 'go back to the order of the model: watch, band, ring, chest strap, phone', false)
    .json('print the order as JSON')
    .examples(
      'vitalsync service sources --account acme ring watch',
      'vitalsync service sources --account acme',
      'vitalsync service sources --account acme --reset',
    )
    .does(async () => (await import('../commands/service/accounts.ts')).runServiceSources)
}

function declareServiceTokens(service: Verb): void {
  service
    .command('tokens')
    .description('the tokens that the Profile Service has issued')
    .command('revoke')
    .description('end every token of an account or of one of its profiles, refresh tokens too, at once')
    .requiredOption('--account <name>', 'account of the tokens')
    .option('--profile <externalId>', 'the tokens of this profile alone')
    .examples(
      'vitalsync service tokens revoke --account acme',
      'vitalsync service tokens revoke --account acme --profile ada',
    )
    .does(async () => (await import('../commands/service/accounts.ts')).revokeServiceTokens)
}

const exportNames = wordsOf<ExportName>({
  'apple-health': true,
  'health-connect': true,
  'garmin-fit': true,
  fitbit: true,
  'garmin-connect': true,
  oura: true,
  whoop: true,
  withings: true,
  'google-fit': true,
  polar: true,
  'samsung-health': true,
  fitabase: true,
  'open-mhealth': true,
  fhir: true,
})

function declareSandboxPeople(sandbox: Verb): void {
  sandbox
    .command('people')
    .description('write a made-up person’s logs as the file that a health app exports')
    .addOption(choiceOption('--as <format>', 'the export', exportNames).default('apple-health'))
    .option('--person <n>', 'which person of the seed, from 1', parsePositive, 1)
    .option('--until <date>', 'the instant up to which there are logs; now when absent', parseDateOption)
    .option('--output <folder>', 'folder for the file', '.')
    .option('--days <n>', 'number of past days with logs', parseWhole, sandboxDefaults.days)
    .option('--seed <words>', 'random seed: the same seed makes the same people', sandboxDefaults.seed)
    .json('print the path and the person as JSON')
    .examples('vitalsync sandbox people --as apple-health --person 7')
    .does(async () => (await import('../commands/service/sandbox-people.ts')).runSandboxPeople)
}

function declareSandboxPlanned(sandbox: Verb): void {
  sandbox
    .command('planned')
    .description('write made-up people’s logs, whose empty days have planned causes, and the truth in a file apart')
    .option('--people <n>', 'how many people; the ten plans repeat in order', parsePositive, 10)
    .option('--until <date>', 'the day before which the days end, in UTC; today when absent', parseDateOption)
    .option('--output <folder>', 'new folder for the files', 'planned')
    .option('--days <n>', 'number of days', parsePositive, 100)
    .option('--seed <words>', 'random seed: the same seed makes the same people', sandboxDefaults.seed)
    .json('print the folder and the counts as JSON')
    .examples('vitalsync sandbox planned --people 20 --output planned')
    .does(async () => (await import('../commands/service/sandbox-people.ts')).runSandboxPlanned)
}

export function declareSandbox(program: Verb): void {
  const sandbox = program
    .command('sandbox')
    .description('run the Profile Service with sample people, injected faults and a clock that can be moved')
    .option('--port <n>', 'port to listen on; 0 takes a free port (default: PORT, else a free port)', parsePort)
    .option('--host <address>', 'address to listen on', sandboxDefaults.host)
    .option('--profiles <n>', 'how many people', parseWhole, sandboxDefaults.profiles)
    .option('--days <n>', 'number of past days with logs', parseWhole, sandboxDefaults.days)
    .option('--seed <words>', 'random seed: the same seed makes the same people', sandboxDefaults.seed)
    .option(
      '--fault <name=rate>',
      'a fault that is injected from the start; may be given several times',
      collectValues,
      [],
    )
    .option('--plain', 'answer as plainly as the interface allows: no tags, no request ids …', false)
    .json('print one line of JSON when ready')
    .examples(
      'vitalsync sandbox',
      'vitalsync sandbox --port 0 --profiles 100 --seed 7 --json',
      'vitalsync sandbox --fault throttle=0.1 --fault late=0.2,hours=6',
      'vitalsync sandbox --plain --fault drift-unit',
    )
    .does(async () => (await import('../commands/service/sandbox.ts')).runSandbox)
  declareSandboxPeople(sandbox)
  declareSandboxPlanned(sandbox)
  sandbox
    .command('replay')
    .description(
      'serve a recorded session (HTTP archive) on this machine; what was not recorded is answered by 404 and printed',
    )
    .argument('<file>', 'the HTTP archive')
    .option('--port <n>', 'port to listen on; 0 takes a free port', parsePort, 0)
    .examples('vitalsync sandbox replay clean.har')
    .does(async () => (await import('../commands/service/recorded-sessions.ts')).runReplay)
}

export function declareHar(program: Verb): void {
  program
    .command('har')
    .description('recorded sessions with upstream (HTTP archives)')
    .command('clean')
    .description(
      'write a recorded session without secrets and values; names of fields and words of the specification stay',
    )
    .argument('<file>', 'the HTTP archive')
    .option('--output <file>', 'the file to write', 'clean.har')
    .examples('vitalsync har clean upstream.har --output clean.har')
    .does(async () => (await import('../commands/service/recorded-sessions.ts')).runHarClean)
}

export function declareEvaluate(program: Verb): void {
  program
    .command('evaluate')
    .description(
      'compare what the Profile Service of DATABASE_URL derived with daily reference figures of the same people',
    )
    .argument('<file>', 'CSV with the columns externalId, date, name, value; - is standard input')
    .option('--account <name>', 'account of the profiles; the only one, or `default`, when absent')
    .json('print all correlations as JSON')
    .examples('vitalsync evaluate recovery.csv', 'vitalsync evaluate recovery.csv --account acme --json')
    .does(async () => (await import('../commands/service/evaluate.ts')).runEvaluate)
}
