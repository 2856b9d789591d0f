import { isIPv6 } from 'node:net'

/** The addresses that count as one caller: an IPv4 address, or the /64 of an IPv6 address, which one household or server has whole. */
export function addressGroupOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const plain = address.split('%', 1)[0] ?? ''
  if (!isIPv6(plain)) return address
  const [before = '', after] = plain.split('::', 2)
  const head = before === '' ? [] : before.split(':')
  const tail = after ? after.split(':') : []
  const missing = after === undefined ? 0 : 8 - head.length - tail.length - (plain.includes('.') ? 1 : 0)
  const parts = [...head, ...Array<string>(missing).fill('0'), ...tail]
  return `${parts
    .slice(0, 4)
    .map((part) => Number.parseInt(part, 16).toString(16))
    .join(':')}::/64`
}
