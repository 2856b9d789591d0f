/** Whether a host name or address means this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)
}

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
