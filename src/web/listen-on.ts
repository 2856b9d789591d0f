/** The part of a Fastify app that opens its port. */
type Listener = { listen(address: { host: string; port: number }): Promise<string> }

/** Another program has the port, or this user may not open it. */
const NOT_TO_BE_HAD: readonly unknown[] = ['EADDRINUSE', 'EACCES']

/** Listens on the first of the ports that can be had; 0 is any. Resolves with the address, or fails as the last port did. */
export async function listenOnFirst(app: Listener, host: string, ports: readonly number[]): Promise<string> {
  const [port = 0, ...others] = ports
  try {
    return await app.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (others.length === 0 || !NOT_TO_BE_HAD.includes(code)) throw error
    return listenOnFirst(app, host, others)
  }
}
