import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)

/** The looks of secrets, by their issuers. */
const shapes: ReadonlyArray<readonly [name: string, shape: RegExp]> = [
  ['private key', /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/],
  ['key of AWS', /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/],
  ['token of GitHub', /\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,})\b/],
  ['token of npm', /\bnpm_[A-Za-z0-9]{36}\b/],
  ['token of Slack', /\bxox[abprs]-[A-Za-z0-9-]{20,}/],
  ['key of Google', /\bAIza[A-Za-z0-9_-]{35}\b/],
  ['key of Stripe', /\b[sr]k_live_[A-Za-z0-9]{20,}/],
  ['JSON web token', /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/],
  ['password in an address', /\b[a-z][a-z+]{2,}:\/\/[^\s:@/'"`<>${}…]*:[A-Za-z0-9_~!.-]{12,}@/],
  [
    'secret of 256 bits',
    /(?:secret|password|token|key)['"]?\s*[:=]\s*['"]?(?:[A-Za-z0-9+/_-]{43}=?|[0-9a-f]{64})(?![A-Za-z0-9+/_=-])/i,
  ],
]

const secretsIn = (text: string) => shapes.filter(([, shape]) => shape.test(text)).map(([name]) => name)

/** Known to everybody, and refused as soon as upstream is no sandbox (config/sample-secrets.ts). */
const samples = ['c2FtcGxlIGtleSBvZiAzMiBieXRlcywgbm90IHNlY3I=', 'wSxsHku2Ut78TTVczswF-mjlNOzlt6yedlqcqbecD88']

test('no file of the repository holds a secret', async () => {
  const listed = await promisify(execFile)('git', ['ls-files', '-z'], { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  const names = listed.stdout.split('\0').filter((name) => name !== '' && name !== 'package-lock.json')
  expect(names.length).toBeGreaterThan(500)
  const found = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, root), 'utf8').catch(() => '')
      const lines = samples.reduce((rest, sample) => rest.replaceAll(sample, 'sample'), text).split('\n')
      return lines.flatMap((line, at) => secretsIn(line).map((kind) => `${name}:${at + 1} ${kind}`))
    }),
  )
  expect(found.flat()).toEqual([])
})

test('a secret of each known shape is found in a line', () => {
  const letters = 'Ab3'.repeat(20)
  for (const [line, name] of [
    [`-----BEGIN RSA ${'PRIVATE'} KEY-----`, 'private key'],
    [`AKIA${'ABCDEFGH'.repeat(2)}`, 'key of AWS'],
    [`ghp_${letters.slice(0, 36)}`, 'token of GitHub'],
    [`npm_${letters.slice(0, 36)}`, 'token of npm'],
    [`postgres://worker:${letters.slice(0, 16)}@db/x`, 'password in an address'],
    [`TOKEN_KEY=${letters.slice(0, 43)}=`, 'secret of 256 bits'],
  ] as const)
    expect(secretsIn(line)).toContain(name)
})
