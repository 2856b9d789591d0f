import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { digestOf } from './run-stryker.ts'

const tree = {
  'src/judge.ts': "import { hour } from './hour.ts'\nexport const isLate = (ms: number) => ms > hour\n",
  'src/hour.ts': 'export const hour = 3_600_000\n',
  'src/other.ts': 'export const other = 1\n',
  'test/judge.test.ts': "import { isLate } from '../src/judge.ts'\nisLate(1)\n",
  'test/proof/mutants/vitest.config.ts': '',
  'test/proof/mutants/fixed-seeds.ts': '',
  'package-lock.json': '{}',
}

test.for([
  { file: 'src/judge.ts', own: true, around: false },
  { file: 'test/judge.test.ts', own: true, around: false },
  { file: 'src/hour.ts', own: false, around: true },
  { file: 'package-lock.json', own: false, around: true },
  { file: 'src/other.ts', own: false, around: false },
])('a change of $file makes those results of mutants old that may hang on it', async ({ file, own, around }) => {
  const root = await mkdtemp(join(tmpdir(), 'mutants-'))
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  for (const [path, text] of Object.entries(tree)) await write(path, text)
  const run = { root, name: 'judge', sources: ['src/judge.ts'], tests: ['test/judge.test.ts'], environment: {} }
  const digest = () => digestOf({ ...run, engines: false, waits: false, stateFolder: join(root, '.proof') })

  const before = await digest()
  await write(file, `${tree[file as keyof typeof tree]}\n`)
  const after = await digest()

  expect({ own: after.own !== before.own, around: after.around !== before.around }).toEqual({ own, around })
})
