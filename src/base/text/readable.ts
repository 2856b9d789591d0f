export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `1 profile`, `2 profiles`. */
export const formatCount = (count: number, noun: string): string =>
  `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`

/** `1,250`, and `1.5`. The language data of `toLocaleString` takes 20 ms to load: only a fraction needs it. */
export const formatNumber = (value: number): string =>
  Number.isSafeInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, ',') : value.toLocaleString('en-US')

/** `2.5 %`, and `0.017 %` for a share below a hundredth. */
export const formatPercent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.01 ? 3 : 1)} %`

/** A share as percent. 100 % means all: a missing part is never rounded away. */
export const formatShare = (share: number): string => `${(share < 1 ? Math.min(share * 100, 99.9) : 100).toFixed(1)} %`

/** `2026-07-11 03:00`, in UTC; empty without an instant. */
export const formatMinute = (at: Date | null): string =>
  at === null ? '' : at.toISOString().slice(0, 16).replace('T', ' ')

const byteUnits = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const

/** Bytes with three digits at most, in units of 1,024. */
export function formatBytes(bytes: number): string {
  const power = Math.min(byteUnits.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1024 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${byteUnits[power]}`
}

/** Whether a host name or address means this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)
}

/** The host of an authority `name:port` or `[::1]:port`, without the port. */
export function hostNameOf(authority = ''): string {
  const address = URL.parse(`http://${authority}`)
  return address?.hostname.replace(/^\[|\]$/g, '') ?? ''
}

/** Whether a request was sent to a name of this machine: a foreign page may let its own name point here (DNS rebinding). */
export const namesThisMachine = (host: string | undefined): boolean => isLoopback(hostNameOf(host))

/** The first of several addresses with commas represents all: the nodes of a cluster are reached alike. */
export function firstAddress(addresses: string): URL {
  return new URL(addresses.split(',')[0] ?? addresses)
}

/** Whether others on the way can read what is sent to an address: another machine, without TLS. */
export function isReadableOnTheWay(address: string): boolean {
  const { protocol, hostname, searchParams } = firstAddress(address)
  const isLocal = hostname === '' || isLoopback(hostname) || searchParams.get('host')?.startsWith('/') === true
  return !isLocal && !speaksTls(protocol, searchParams)
}

function speaksTls(protocol: string, searchParams: URLSearchParams): boolean {
  if (!/^postgres/.test(protocol)) return protocol === 'https:' || protocol === 'rediss:'
  return /^(require|verify-ca|verify-full|no-verify)$/.test(searchParams.get('sslmode') ?? '')
}

/** Control characters, which move the cursor or begin an escape sequence, and marks that reorder what is shown. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A text for one line or cell of a terminal: no character of it does anything but show itself. */
export const printableLine = (text: string): string => text.replace(unprintable, '\ufffd')

const ESCAPE = String.fromCharCode(27)
const colourOrSpacing = new RegExp(`(${ESCAPE}\\[3[1239]m|[\\n\\t])`)

/** A whole output: newlines, tabs and our own colours stay. Other codes of that form hide a text, or draw it black on black. */
export const printableText = (text: string): string =>
  text
    .split(colourOrSpacing)
    .map((part, index) => (index % 2 === 1 ? part : printableLine(part)))
    .join('')

/** JSON in which such characters are written as escapes: the same value for a program. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** A text as one word of a POSIX shell, whatever is in it. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A text as one word of a shell, quoted only where it must be. */
export const shellWord = (text: string): string => (/^[\w.@-]+$/.test(text) ? text : shellQuoted(text))

/** A path as one word of a shell, quoted only where it must be. */
export const shellPath = (text: string): string => (/^[\w.@/-]+$/.test(text) ? text : shellQuoted(text))
