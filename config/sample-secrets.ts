/** The secrets that docker-compose.yml falls back to. Everybody knows them: they may guard made-up people only. */
const SAMPLE_TOKEN_KEY = 'c2FtcGxlIGtleSBvZiAzMiBieXRlcywgbm90IHNlY3I='
const samplePassword = /^[a-z]+:\/\/[^/@]*:sample-[a-z]+@/
/** The client ids that a sandbox gives to its accounts. */
const isOfSandbox = (clientId: string | undefined) => clientId?.startsWith('sandbox-') ?? true

type Secrets = {
  readonly clientId: string | undefined
  readonly tokenKey: string | undefined
  readonly databaseUrl: string | undefined
  readonly queueUrl: string | undefined
}

/** The variables that hold a sample secret although upstream is no sandbox: the fault of each, and its cure. */
export function sampleSecretFaults({ clientId, tokenKey, databaseUrl = '', queueUrl = '' }: Secrets): string[] {
  if (isOfSandbox(clientId)) return []
  const faults: string[] = []
  if (tokenKey?.split(',').some((key) => key.trim() === SAMPLE_TOKEN_KEY))
    faults.push('TOKEN_KEY is the sample key of docker-compose.yml: make your own with openssl rand -base64 32')
  if (samplePassword.test(databaseUrl))
    faults.push('DATABASE_URL holds a sample password of docker-compose.yml: set ENGINE_PASSWORD')
  if (samplePassword.test(queueUrl))
    faults.push('QUEUE_URL holds a sample password of docker-compose.yml: set ENGINE_PASSWORD')
  return faults
}
