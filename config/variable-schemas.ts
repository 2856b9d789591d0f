import { isIP } from 'node:net'
import { z } from 'zod'

/** The schemas of environment variables; each refusal names its remedy. */

/**
 * The driver takes these modes for verify-full, and prints eight lines about it for each process. Said outright it stays quiet:
 * the certificate is checked.
 */
const withVerifiedTls = (text: string) =>
  text.includes('uselibpqcompat=true')
    ? text
    : text.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full')

export const postgresUrl = z
  .string()
  .refine((text) => /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''), {
    error: 'must be an address that starts with postgres:// or postgresql://',
  })
  .transform(withVerifiedTls)

export const queueUrl = z
  .string()
  .refine((text) => text.split(',').every((part, index) => index > 0 || isQueueUrl(part)), {
    error: 'must start with redis://, rediss:// or postgres:// (Redis Cluster: several addresses, separated by commas)',
  })
  .transform((text) => (text.startsWith('postgres') ? withVerifiedTls(text) : text))
const isQueueUrl = (text: string) => URL.canParse(text) && /^(rediss?|postgres(ql)?):$/.test(new URL(text).protocol)

/** Such an address is shown on pages, at terminals and in errors, and its user, password and query would not be sent. */
export function isPlainHttpUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ''
}

export const plainHttpUrl = z
  .string()
  .refine(isPlainHttpUrl, { error: 'must be http://… or https://…, without user and query' })

export const wholeNumberText = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number)

export const hostName = z
  .string()
  .refine((text) => isIP(text) > 0 || /^[a-z0-9]([a-z0-9.-]{0,252}[a-z0-9])?$/i.test(text), {
    error: 'must be an address or a host name without a port, such as 127.0.0.1 or 0.0.0.0',
  })

/** As a browser writes them: in small letters. */
export const hostNameList = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim().toLowerCase()))
  .refine((parts) => parts.every((part) => hostName.safeParse(part).success), {
    error: 'must be host names without a port, separated by commas, such as service,sandbox.example.org',
  })

export const headerName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,63}$/i, { error: 'must be the name of a header, such as x-forwarded-user' })

/** As the standard has it: names and values that are percent-encoded. */
export const headerList = z
  .string()
  .refine((text) => text.split(',').every(isHeader), {
    error: 'must be names and values, such as authorization=Bearer%20abc, separated by commas',
  })
  .transform((text) =>
    Object.fromEntries(
      text.split(',').map((part) => {
        const [name = '', ...value] = part.split('=')
        return [name.trim().toLowerCase(), decodeURIComponent(value.join('=').trim())]
      }),
    ),
  )

function isHeader(text: string): boolean {
  if (!/^\s*[\w-]+\s*=(?:%[0-9a-f]{2}|[\x21-\x24\x26-\x7e\s])*$/i.test(text)) return false
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false // percent-encoded bytes that are no UTF-8
  }
}

export const secondsList = z
  .string()
  .refine((text) => /^\d{1,8}(,\d{1,8}){0,9}$/.test(text), {
    error: 'must be one to ten whole numbers, such as 30,300',
  })
  .transform((text) => text.split(',').map(Number))

export const shareText = z
  .string()
  .refine((text) => /^(0?\.\d+|[01](\.0+)?)$/.test(text), { error: 'must be a number from 0 to 1, such as 0.001' })
  .transform(Number)

/** The samplers of OpenTelemetry's standard. */
export const traceSamplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** One key, or two with a comma between: the first seals, each opens. */
export const tokenKeys = z
  .string()
  .transform((text) => text.split(',').map((part) => keyOf(part.trim())))
  .refine((keys) => keys.length <= 2 && keys.every((key) => key.length === 32), {
    error: 'must be 32 random bytes in base64 or hexadecimal, or two such keys with a comma: openssl rand -base64 32',
  })

const keyOf = (text: string) => (/^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64'))

export const proxyList = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((parts) => parts.every(isProxy), {
    error: 'must be addresses or networks, separated by commas, such as 10.0.0.1,192.168.0.0/16,loopback',
  })

function isProxy(text: string): boolean {
  const [address = '', bits, ...others] = text.split('/')
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true
  const bitsMax = isIP(address) === 6 ? 128 : 32
  const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) > 0 && Number(bits) <= bitsMax)
  return isIP(address) > 0 && isNetwork && others.length === 0
}

export const cronLine = z
  .string()
  .regex(/^(\S+\s+){4}\S+$/, { error: 'must be a cron line of five fields, such as 0 3 * * *' })

export const timeZone = z
  .string()
  .refine(isTimeZone, { error: 'must be a time zone of the IANA database, such as Europe/Berlin or UTC' })

function isTimeZone(name: string): boolean {
  try {
    // The first format of a process loads the zones: ten milliseconds of each command, for a name that is always one.
    return name === 'UTC' || new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

export const environmentName = z.enum(['sandbox', 'production'])

const SANDBOX_PREFIX = /^sandbox[-.]/
export const hasPrefix = (sandboxUrl: string): boolean => SANDBOX_PREFIX.test(new URL(sandboxUrl).hostname)

/** The production address is the sandbox address without the prefix `sandbox` of its host name. */
export function upstreamUrlOf(url: string, sandboxUrl: string | undefined): string {
  if (url === 'sandbox') return sandboxUrl ?? url
  if (url !== 'production') return url
  const address = new URL(sandboxUrl ?? '')
  address.hostname = address.hostname.replace(SANDBOX_PREFIX, '')
  return address.href.replace(/\/$/, '')
}
