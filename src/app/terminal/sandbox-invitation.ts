import { shellQuoted } from '../../base/text/readable.ts'
import { DAY } from '../../base/time/units.ts'
import type { Pool } from '../../pipeline/warehouse/postgres/warehouse-pool.ts'
import type { Sandbox } from '../../service/start-sandbox.ts'
import { writeSandboxCredentials } from '../sandbox-secret.ts'

type InvitationOptions = {
  readonly pool: Pool
  readonly sandbox: Sandbox
  readonly folder: string
  readonly showsSecret: boolean
}

/** How many days of scores the sample request asks for. */
const SHOWN_DAYS = 3

/**
 * The lines by which a newcomer asks the sandbox by hand: clientId, its secret or where it is, a person, and a request that works
 * when it is pasted into a shell. The secret is written to a file that only this user may read.
 */
export async function inviteToSandbox({ pool, sandbox, folder, showsSecret }: InvitationOptions): Promise<string[]> {
  const file = await writeSandboxCredentials(folder, sandbox)
  const lines = [
    `Profile Service:  ${sandbox.url}/docs`,
    `Its console:      ${sandbox.consoleUrl}`,
    `clientId:         ${sandbox.clientId}`,
    `clientSecret:     ${showsSecret ? sandbox.clientSecret : `in ${file}`}`,
  ]
  const { rows } = await pool.query<{ external_id: string; newest: Date }>(
    `select external_id, max(score_date_time) as newest from warehouse.scores where gone_at is null
     group by external_id order by external_id limit 1`,
  )
  const [person] = rows
  if (person === undefined) return lines
  const from = new Date(Math.floor(person.newest.getTime() / DAY) * DAY - SHOWN_DAYS * DAY)
  const query = `startDateTime=${from.toISOString().slice(0, 10)}T00:00:00Z`
  const scores = `${sandbox.url}/api/v1/profile/score/${encodeURIComponent(person.external_id)}?${query}`
  return [
    ...lines,
    `Sample person:    ${person.external_id}`,
    '',
    'Ask it for the latest scores:',
    curlLine({ sandbox, file, scores }),
  ]
}

/** For any POSIX shell: the inner request gets the token, and the outer one sends it. */
function curlLine({ sandbox, file, scores }: { sandbox: Sandbox; file: string; scores: string }): string {
  const token = `curl -s ${sandbox.url}/api/v1/oauth/account/token -H content-type:application/json -d @${quoted(file)} | cut -d '"' -f 4`
  return `curl -s -H "authorization: account $(${token})" '${scores}'`
}

const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : shellQuoted(path))
