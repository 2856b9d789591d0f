import { once } from 'node:events'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { needTerminal, runInTerminal } from '../support/in-terminal.ts'
import { runProgram, startCommand } from '../support/run-program.ts'
import { isReady, nothingLeft, test, timeout } from './up-world.ts'

const portIn = (text: string) =>
  Number(text.match(/Profile Service is running, .* at http:\/\/127\.0\.0\.1:(\d+)$/m)?.[1])

/** The memory of a process and all that it started, each shared page counted once; the processes of one tree. */
async function residentMb(pid: number): Promise<number> {
  const pss = /^Pss: +(\d+) kB/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => ''))
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  const below = await Promise.all(
    children
      .split(' ')
      .filter(Boolean)
      .map((child) => residentMb(Number(child))),
  )
  return below.reduce((sum, mb) => sum + mb, Number(pss?.[1] ?? 0) / 1024)
}

test('the printed commands work when pasted, commands for the service join the running one, and its port stays', {
  timeout,
}, async ({ home, folder, up }) => {
  const program = up(['--days', '60'])
  await program.said(isReady)
  const [, line = ''] = program.stdout().match(/^(curl .*)$/m) ?? []
  const pasted = await startCommand(`set -x; ${line}`, { cwd: home }).ended
  const scores = JSON.parse(pasted.stdout)
  const file = join(folder, 'sandbox-credentials.json')
  const vitalsync = (...words: string[]) => runProgram(words, { cwd: home, env: { VITALSYNC_DATA: folder } })
  const [, statement = ''] = program.stdout().match(/^Look at it: +npx vitalsync sql "(.*)"$/m) ?? []
  const looked = await vitalsync('sql', statement)
  const [, person = ''] = program.stdout().match(/^Sample person: +(\S+)$/m) ?? []
  await writeFile(join(home, 'figures.csv'), `externalId,date,name,value\n${person},2026-01-02,recovery,1\n`)
  const evaluated = await vitalsync('evaluate', 'figures.csv')
  const created = await vitalsync('service', 'keys', 'create', '--account', 'acme', '--json')
  const answer = await fetch(`http://127.0.0.1:${portIn(program.stderr())}/api/v1/oauth/account/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: created.stdout,
  })
  const listed = await vitalsync('service', 'keys', 'list')
  const revoked = await vitalsync('service', 'tokens', 'revoke', '--account', 'acme')

  expect(scores[0]).toMatchObject({ type: expect.any(String), scoreDateTime: expect.any(String) })
  expect(looked.stdout).toMatch(/^5 rows$/m)
  // Each user of the machine can read a command line.
  expect(pasted.stderr).toContain('curl')
  expect(pasted.stderr).not.toMatch(/account [\w.-]{20,}/)
  expect(program.stdout()).toContain(`clientId:         ${JSON.parse(await readFile(file, 'utf8')).clientId}`)
  expect(evaluated.stdout).toMatch(/^1 figure of 1 person$/m)
  expect(program.stdout()).not.toContain(JSON.parse(await readFile(file, 'utf8')).clientSecret)
  expect((await stat(file)).mode & 0o077).toBe(0)
  expect([created.code, answer.status]).toEqual([0, 200])
  expect(listed.stdout).toContain('acme')
  expect(revoked).toMatchObject({ code: 0, stderr: expect.stringContaining('1 tokens are revoked') })

  // 225 MB at rest, and 250 MB from the sources: once the connections of the first sync have gone and its memory was given back.
  await expect.poll(() => residentMb(program.pid), { interval: 500 }).toBeLessThan(270)
  program.kill('SIGTERM')
  await program.ended
  const first = portIn(program.stderr())
  const second = portIn((await up().ended).stderr)
  const holder = createServer().listen(first, '127.0.0.1')
  await once(holder, 'listening')
  const third = await up().ended
  holder.close()

  expect([first > 0, second]).toEqual([true, first])
  expect(third.code, third.stderr).toBe(0)
  expect(portIn(third.stderr)).not.toBe(first)
  expect(third.stderr).toContain(
    `Port ${first} of the last start is taken: the Profile Service is at ${portIn(third.stderr)} now`,
  )
  await nothingLeft(folder)
})

test('a terminal is shown the secret of the sandbox', { timeout }, async ({ skip, home, folder }) => {
  needTerminal(skip)
  const env = { PATH: process.env['PATH'] ?? '', VITALSYNC_DATA: folder }
  const typed = { seen: 'Ctrl-C stops.', send: '\u0003' }
  const words = ['up', '--profiles', '1', '--days', '4']
  const { code, shown } = await runInTerminal(words, { cwd: home, columns: 200, env, typed })
  const { clientSecret } = JSON.parse(await readFile(join(folder, 'sandbox-credentials.json'), 'utf8'))

  expect(code, shown).toBe(0)
  expect(shown).toContain(`clientSecret:     ${clientSecret}\n`)
})

test('without a service that runs or has run, its commands say how to start one', { timeout }, async ({
  home,
  folder,
}) => {
  await mkdir(folder)
  const { code, stderr } = await runProgram(['service', 'keys', 'list'], { cwd: home, env: { VITALSYNC_DATA: folder } })

  expect(code).toBe(2)
  expect(stderr).toContain('DATABASE_URL is not set')
  expect(stderr).toContain('vitalsync up')
})
