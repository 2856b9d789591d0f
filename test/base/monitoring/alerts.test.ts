import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { commandsOf, tree } from '../../app/cli/reference.ts'
import { unknownMetricsIn } from '../../support/known-metrics.ts'
import { needProgram } from '../../support/programs.ts'

const run = promisify(execFile)
const root = new URL('../../../', import.meta.url)
const textOf = (path: string) => readFile(new URL(path, root), 'utf8')

const ruleSchema = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
  annotations: z.strictObject({ summary: z.string(), runbook: z.string(), look: z.string() }),
})
const file = z.object({ groups: z.array(z.object({ rules: z.array(ruleSchema) })) })
const rules = file.parse(parse(await textOf('config/alerts.yml'))).groups.flatMap((group) => group.rules)

test('alerts look at metrics that exist', () => {
  for (const { alert, expr } of rules)
    expect({ alert, unknown: unknownMetricsIn(expr) }).toEqual({ alert, unknown: [] })
})

test('each alert has its section in the runbook, and each section its alert', async () => {
  const [, sections = ''] = (await textOf('docs/how-to/operating.md')).split('## Reading the alerts')
  const titles = [...sections.matchAll(/^### (\w+)$/gm)].map(([, title]) => title)

  expect(titles).toEqual(rules.map(({ alert }) => alert))
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook).toBe(`docs/how-to/operating.md#${alert.toLowerCase()}`)
    const [, section = ''] = sections.split(`### ${alert}\n`)
    const command = annotations.look.split(' --')[0] ?? ''
    expect(section.split('\n### ')[0]?.replaceAll('\n', ' '), alert).toContain(command)
  }
})

test('the command to look with is one of ours', () => {
  const names = commandsOf(tree()).map(({ name }) => `vitalsync ${name}`)
  for (const { annotations } of rules) expect(names).toContain(annotations.look.split(' --')[0])
})

test('each alert has a rule test in which it fires', async () => {
  const cases = await textOf('test/base/monitoring/alert-rules.yml')
  for (const { alert } of rules)
    expect(cases, alert).toMatch(new RegExp(`alertname: ${alert}\\n\\s+exp_alerts:( &\\w+)?\\n`))
})

test('Prometheus itself reads the rules, and they fire for what they are for and for nothing else', async ({
  skip,
}) => {
  const promtool = (...words: string[]) => run('promtool', words, { cwd: root })
  needProgram(skip, 'promtool')

  await promtool('check', 'rules', 'config/alerts.yml')
  const { stdout } = await promtool('test', 'rules', 'test/base/monitoring/alert-rules.yml')

  expect(stdout).toContain('SUCCESS')
})
