/** In a file of their own, so that the help can show them without loading the sandbox. */
export const sandboxDefaults = { host: '127.0.0.1', profiles: 8, days: 60, seed: 'vitalsync' } as const
