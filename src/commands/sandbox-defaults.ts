/** What a sandbox is like unless told otherwise. Apart from the sandbox, which is large to load. */
export const sandboxDefaults = { host: '127.0.0.1', profiles: 8, days: 60, seed: 'vitalsync' } as const
