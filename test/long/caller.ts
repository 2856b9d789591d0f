import { setTimeout as wait } from 'node:timers/promises'

type Access = { readonly url: string; readonly clientId: string; readonly clientSecret: string }

const EVERY_MS = 50

/** An app that asks the Profile Service for its people, twenty times a second, whatever it is answered. */
export function startCaller({ url, clientId, clientSecret }: Access) {
  const stop = new AbortController()
  const ask = async () => {
    const login = await fetch(`${url}/api/v1/oauth/account/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ clientId, clientSecret }),
    })
    const { accountToken } = (await login.json()) as { accountToken: string }
    const headers = { authorization: `Account ${accountToken}` }
    while (!stop.signal.aborted) {
      const answer = await fetch(`${url}/api/v1/account/profile/search`, { headers }).catch(() => undefined)
      await answer?.text()
      await wait(EVERY_MS)
    }
  }
  const asking = ask()
  return {
    async close() {
      stop.abort()
      await asking
    },
  }
}
