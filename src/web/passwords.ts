import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { UsageProblem } from '../base/errors.ts'
import { mayOthersWrite } from '../base/files/data-folder.ts'
import { shellPath } from '../base/text/readable.ts'

const roles = ['look', 'act'] as const
export type Role = (typeof roles)[number]

/** A person who may sign in: a line `name:role:salt:hash` of the password file. */
type Account = { readonly name: string; readonly role: Role; readonly salt: Buffer; readonly hash: Buffer }

const HASH_BYTES = 32
const SALT_BYTES = 16
/** About 60 ms and 32 MB for each try. */
const cost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
const derive = promisify<string, Buffer, number, typeof cost, Buffer>(scrypt)

const ACCOUNTS_MAX = 1000
const nameFormat = /^[\w.@-]{1,64}$/
const lineFormat = /^([\w.@-]{1,64}):(look|act):([0-9a-f]{32}):([0-9a-f]{64})$/

/** Refuses a name that has no place in the password file. */
export function requireSignInName(name: string): void {
  if (nameFormat.test(name)) return
  throw new UsageProblem(`make a password line: no name is "${name}"`, {
    hint: 'A name has up to 64 letters, digits, and . @ - _',
  })
}

/** The line of the password file for a person. */
export async function passwordLine(name: string, role: Role, password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await derive(password, salt, HASH_BYTES, cost)
  return `${name}:${role}:${salt.toString('hex')}:${hash.toString('hex')}`
}

export type Passwords = Awaited<ReturnType<typeof readPasswords>>

/** `setting` is the variable that names the file, for messages. */
export async function readPasswords(file: string, setting: string) {
  const hint = 'Each line is made by: vitalsync dashboard password NAME'
  const { text, mode } = await readWithMode(file).catch((cause: Error) => {
    throw new UsageProblem(`read ${setting}: ${cause.message}`, { hint, cause })
  })
  if (mayOthersWrite(mode))
    throw new UsageProblem(`read ${setting}: other users may write to it`, {
      hint: `They could let themselves in. Take the right away: chmod o-w ${shellPath(file)}`,
    })
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
  if (lines.length === 0 || lines.length > ACCOUNTS_MAX)
    throw new UsageProblem(`read ${setting}: it has ${lines.length} lines, not 1 to ${ACCOUNTS_MAX}`, { hint })
  const accounts = new Map(
    lines
      .map((line, index) => accountOf(line, { setting, number: index + 1, hint }))
      .map((account) => [account.name, account]),
  )
  const nobody: Account = { name: '', role: 'look', salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) }
  return {
    /** Takes as long for a name that is not known. */
    async roleOf(name: string, password: string) {
      const account = accounts.get(name) ?? nobody
      const hash = await derive(password, account.salt, HASH_BYTES, cost)
      return timingSafeEqual(hash, account.hash) && account !== nobody ? account.role : undefined
    },
  }
}

/** A secret that a platform mounts is a link, and of any owner. */
async function readWithMode(file: string) {
  const handle = await open(file)
  try {
    return { text: await handle.readFile('utf8'), mode: (await handle.stat()).mode }
  } finally {
    await handle.close()
  }
}

type Place = { readonly setting: string; readonly number: number; readonly hint: string }

function accountOf(line: string, { setting, number, hint }: Place): Account {
  const [, name = '', role, salt = '', hash = ''] = lineFormat.exec(line.trim()) ?? []
  const found = roles.find((known) => known === role)
  if (found === undefined)
    throw new UsageProblem(`read ${setting}: line ${number} is not name:role:salt:hash`, { hint })
  return { name, role: found, salt: Buffer.from(salt, 'hex'), hash: Buffer.from(hash, 'hex') }
}
