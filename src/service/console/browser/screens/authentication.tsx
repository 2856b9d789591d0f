import { Link, Panel, Table } from '../../../../web/browser/parts.tsx'
import { CodeBlock } from '../console-parts.tsx'
import { serviceUrl } from '../console-state.ts'

const callers = [
  {
    caller: 'account',
    header: 'Authorization: account <token>',
    from: { name: 'accountToken', about: 'for the clientId and clientSecret of a client key' },
    lives: '24 hours; then get another',
    reaches: 'every profile of the account, by its externalId',
  },
  {
    caller: 'profile',
    header: 'Authorization: profile <token>',
    from: { name: 'profileToken', about: 'by the account; or the answer of a registration' },
    lives: '24 hours or less; renewed by its refresh token, which works once, for 30 days',
    reaches: 'its own profile; a read-only token writes nothing',
  },
  {
    caller: 'app',
    header: 'AppId: <id>  AppSecret: <secret>',
    from: { name: 'registerByApp', about: 'an app key' },
    lives: 'until the key is revoked',
    reaches: 'registers new profiles, and nothing else',
  },
]

/** Which caller may call which operations, with which header, and for how long. */
export function AuthenticationScreen() {
  return (
    <>
      <h1 class="head">Authentication</h1>
      <Panel title="Three callers" flush>
        <Table head={['caller', 'header', 'got from', 'lives', 'reaches']} label="Callers">
          {callers.map(({ caller, header, from, lives, reaches }) => (
            <tr key={caller}>
              <td>
                <b>{caller}</b>
              </td>
              <td class="mono">{header}</td>
              <td class="wide">
                <p>
                  <Link to={`/reference/${from.name}`}>{from.name}</Link>: {from.about}
                </p>
              </td>
              <td class="wide">{lives}</td>
              <td class="wide">{reaches}</td>
            </tr>
          ))}
        </Table>
      </Panel>
      <div class="grid two">
        <ServerSignsIn />
        <AppSignsIn />
      </div>
      <EndsOfTokens />
    </>
  )
}

const ServerSignsIn = () => (
  <Panel title="A server signs in">
    <ol class="numbered">
      <li>
        Make a <Link to="/keys">client key</Link>; keep its secret on the server, never in an app.
      </li>
      <li>
        Exchange it: <Link to="/query/accountToken">accountToken</Link>. Keep the token for its 24 hours.
      </li>
      <li>
        Read people by externalId: <Link to="/query/scoresOf">scoresOf</Link> and the others that end in <i>Of</i>.
      </li>
      <li>After a 401 get another token, once, and try again.</li>
    </ol>
    <CodeBlock
      label="Request of a token"
      text={`curl ${serviceUrl}/api/v1/oauth/account/token \\
  -H 'content-type: application/json' \\
  -d '{"clientId":"…","clientSecret":"…"}'`}
    />
  </Panel>
)

const AppSignsIn = () => (
  <Panel title="An app signs a person in">
    <ol class="numbered">
      <li>
        Register the person: <Link to="/query/registerByApp">registerByApp</Link> with an app key, or have your server{' '}
        <Link to="/query/register">register</Link>.
      </li>
      <li>The answer holds a profile token and a refresh token. Keep both in the phone’s safe.</li>
      <li>Upload and read with the profile token: no externalId is sent, the token says who it is.</li>
      <li>
        When it has expired, spend the refresh token: <Link to="/query/refreshToken">refreshToken</Link>. Used twice,
        all tokens of its family end: somebody has copied it.
      </li>
    </ol>
    <p>
      The <Link to="/demo">demo app</Link> does these steps before your eyes.
    </p>
  </Panel>
)

const EndsOfTokens = () => (
  <Panel title="What ends a token">
    <ul class="plain">
      <li>Its time: 24 hours at most; a family of refreshed tokens after 90 days.</li>
      <li>Its key: revoking a key ends every token that descends from it, in every process, within seconds.</li>
      <li>
        A command: vitalsync service tokens revoke ends the tokens of an account or of one profile; the keys stay.
      </li>
      <li>The deletion of its profile.</li>
    </ul>
    <p class="quiet">
      A refused token is answered with 401 and one text, whatever the reason. Guessing is paced: 429 with Retry-After.
    </p>
  </Panel>
)
