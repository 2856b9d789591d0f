import { MINUTE } from '../time/units.ts'

/** Marks the addresses of the Postgres that vitalsync starts itself. The driver leaves the parameter alone. */
const OWN_MARK = 'started_by=vitalsync'

export const markedAsOwn = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}${OWN_MARK}`
export const isOwnServer = (url: string): boolean => url.includes(OWN_MARK)

export const OWN_HINT =
  'It is vitalsync’s own Postgres, of the data folder: no setting needs to be corrected. Wait until the machine is less busy, or stop `vitalsync up` with Ctrl-C and start it again.'

/** Our own server is there, so a connection that takes long only means a busy machine. */
export const connectTimeoutMsFor = (url: string, usualMs: number): number => (isOwnServer(url) ? MINUTE : usualMs)
