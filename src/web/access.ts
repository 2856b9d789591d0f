import { BlockList, isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { UsageProblem } from '../base/errors.ts'
import { isLoopback } from '../base/text/readable.ts'
import { type Role, readPasswords } from './passwords.ts'

/** The user who looks or acts. */
export type Actor = { readonly name: string; readonly role: Role }

type AccessSettings = {
  /** The page, in words, and the beginning of the names of its settings: for messages. */
  readonly page: string
  readonly prefix: 'DASHBOARD' | 'CONSOLE'
  readonly passwordFile: string | undefined
  /** The header in which a proxy names who has signed in to it. */
  readonly trustedHeader: string | undefined
  /** The people that may act, among the people that the proxy names. */
  readonly actors: readonly string[]
  /** Only these may set the header. */
  readonly trustedProxies: readonly string[]
}

export type Access = Awaited<ReturnType<typeof openAccess>>

/** Beyond loopback nobody is let in without a password or a proxy that has asked for one. */
export async function openAccess(host: string, settings: AccessSettings) {
  const { page, prefix, passwordFile, trustedHeader, trustedProxies } = settings
  if (trustedHeader !== undefined && trustedProxies.length === 0)
    throw new UsageProblem(`open ${page}: ${prefix}_TRUSTED_HEADER needs TRUSTED_PROXIES`, {
      hint: 'Name the proxy that sets the header, for instance TRUSTED_PROXIES=loopback: from others it is not believed.',
    })
  if (!isLoopback(host) && passwordFile === undefined && trustedHeader === undefined)
    throw new UsageProblem(`open ${page} on ${host}: it shows health data, and nobody would be asked who they are`, {
      hint: `Set ${prefix}_PASSWORD_FILE, or ${prefix}_TRUSTED_HEADER behind a proxy that signs people in; or stay on 127.0.0.1.`,
    })
  const passwords =
    passwordFile === undefined ? undefined : await readPasswords(passwordFile, `${prefix}_PASSWORD_FILE`)
  const isOpen = passwords === undefined && trustedHeader === undefined
  const named = trustedHeader === undefined ? undefined : proxyNaming({ ...settings, trustedHeader })
  return {
    /** Nobody signs in: only this machine is answered. */
    isOpen,
    passwords,
    /** Each program of this machine may say who it is. */
    trustsThisMachine: trustedHeader !== undefined && holdsThisMachine(blockListOf(trustedProxies)),
    /** The actor of a request that carries no session; undefined: sign in first. */
    actorOf: (request: FastifyRequest): Actor | undefined =>
      isOpen ? { name: 'local', role: 'act' } : named?.(request),
  }
}

const NAME_LENGTH_MAX = 200

function proxyNaming({ trustedHeader, trustedProxies, actors }: AccessSettings & { trustedHeader: string }) {
  const trusted = blockListOf(trustedProxies)
  return ({ headers, socket }: FastifyRequest): Actor | undefined => {
    const address = socket.remoteAddress?.replace(/^::ffff:/, '') ?? ''
    const name = headers[trustedHeader.toLowerCase()]
    if (typeof name !== 'string' || name === '' || name.length > NAME_LENGTH_MAX) return undefined
    if (!trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')) return undefined
    return { name, role: actors.includes(name) ? 'act' : 'look' }
  }
}

const namedNetworks: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

const holdsThisMachine = (list: BlockList) => list.check('127.0.0.1') || list.check('::1', 'ipv6')

function blockListOf(proxies: readonly string[]): BlockList {
  const list = new BlockList()
  for (const proxy of proxies.flatMap((proxy) => namedNetworks[proxy] ?? [proxy])) {
    const [address = '', bits] = proxy.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return list
}
