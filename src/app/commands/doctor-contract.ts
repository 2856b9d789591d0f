import { open } from 'node:fs/promises'
import { pulledStreams } from '../../../config/streams.ts'
import { readRunning } from '../../base/engines/running-file.ts'
import { EngineUnreachable, UsageProblem } from '../../base/errors.ts'
import { requireNoFolder, requireReplaceable } from '../../base/files/named-files.ts'
import { replacePrivateFile } from '../../base/files/private-file.ts'
import { jsonOrUndefined } from '../../base/text/json.ts'
import { formatCount } from '../../base/text/readable.ts'
import {
  type ContractChange,
  changesSince,
  parseSavedContract,
  savedContractOf,
} from '../../operations/contract/compare-contracts.ts'
import {
  type ContractReport,
  contractPoints,
  examineContract,
  type PointReport,
  type PointState,
  requestsPlanned,
} from '../../operations/contract/examine-contract.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { formatTable, shadedCell } from '../terminal/table.ts'
import type { Shade, Terminal } from '../terminal/terminal.ts'

type ContractOptions = {
  readonly write: boolean
  readonly profile: readonly string[]
  readonly save?: string
  readonly compare?: string
}

/** A new upstream is asked gently, whatever the budget of the fleet is. */
const REQUESTS_PER_SECOND_MAX = 10

/**
 * Compares what upstream answers with the specification, and says its plan before. Reads only, but with `--write`. The
 * report and the saved file hold no secret, no name of a person and no value of a record.
 */
export async function runDoctorContract(context: CommandContext, options: ContractOptions): Promise<number> {
  const { config, terminal, signal } = context
  const upstream = config.upstream ?? (await readRunning(config.dataFolder))?.upstream
  if (upstream === undefined)
    throw new UsageProblem('examine contract: no upstream is given', {
      hint: 'Set UPSTREAM_URL, UPSTREAM_CLIENT_ID and UPSTREAM_CLIENT_SECRET, or run vitalsync up.',
    })
  const saved = options.compare === undefined ? undefined : await readSavedContract(options.compare)
  // Before upstream is asked: a report that cannot be kept is noticed now.
  if (options.save !== undefined) await requireReplaceable(options.save)
  const requestsPerSecond = Math.min(config.budget.requestsPerSecond, REQUESTS_PER_SECOND_MAX)
  sayPlan(terminal, { url: upstream.url, writes: options.write, requestsPerSecond })
  const asked = { upstream, people: options.profile, requestsPerSecond, signal, writes: options.write }
  const report = await examineContract(pulledStreams, asked)
  if (report.isAuthorized === undefined)
    throw new EngineUnreachable('examine contract: upstream does not answer', { hint: 'vitalsync doctor says why.' })
  if (options.save !== undefined) await replacePrivateFile(options.save, savedContractOf(report, new Date()))
  const changes = saved && changesSince(saved, report, pulledStreams)
  printReport(terminal, report, changes)
  const isHarmful = [...report.points, ...(changes ?? [])].some(({ state }) => state === 'harmful')
  return isHarmful ? exitCodes.failures : exitCodes.done
}

type Plan = { readonly url: string; readonly writes: boolean; readonly requestsPerSecond: number }

function sayPlan(terminal: Terminal, { url, writes, requestsPerSecond }: Plan): void {
  const { origin } = new URL(url)
  const planned = requestsPlanned(contractPoints(pulledStreams, { writes }))
  terminal.say(
    `Contract of ${origin}: at most ${planned} requests, one at a time, at most ${requestsPerSecond} a second.`,
  )
  terminal.say(
    writes
      ? 'It reads the records of up to three people. It registers a profile vitalsync-contract-…, writes a log, a tag and demographics to it, and deletes it.'
      : 'It reads the records of up to three people, and writes nothing: --write tries that too.',
  )
}

const SAVED_BYTES_MAX = 4 * 1024 * 1024

async function readSavedContract(path: string) {
  await requireNoFolder(path)
  const handle = await open(path)
  try {
    const buffer = Buffer.alloc(SAVED_BYTES_MAX)
    const { bytesRead } = await handle.read(buffer, 0, SAVED_BYTES_MAX, 0)
    const saved = parseSavedContract(jsonOrUndefined(buffer.toString('utf8', 0, bytesRead)))
    if (saved !== undefined) return saved
  } finally {
    await handle.close()
  }
  throw new UsageProblem(`read ${path}: it is no saved contract`, {
    hint: 'Name a file that vitalsync doctor --contract --save has written.',
  })
}

const stateWords: Readonly<Record<PointState, string>> = {
  'as specified': 'as specified',
  harmless: 'differs, harmless',
  harmful: 'differs, acts on correctness',
  unseen: 'not seen',
}
const stateShades: Readonly<Record<PointState, Shade | undefined>> = {
  'as specified': 'good',
  harmless: 'odd',
  harmful: 'bad',
  unseen: undefined,
}

const differs = ({ state }: { readonly state: PointState }) => state === 'harmless' || state === 'harmful'

function printReport(terminal: Terminal, report: ContractReport, changes: readonly ContractChange[] | undefined): void {
  const { points, requests, people } = report
  const countOf = (wanted: PointState) => points.filter(({ state }) => state === wanted).length
  const [harmful, harmless] = [countOf('harmful'), countOf('harmless')]
  if (terminal.json) {
    const compared = changes === undefined ? {} : { changes }
    terminal.printJson('doctor', { requests, people, harmful, harmless, points, ...compared })
    return
  }
  const rows = points.map(({ point, state, specified, says }) => [
    point,
    shadedCell(stateWords[state], stateShades[state]),
    says.join('; ') || specified,
  ])
  terminal.print(`${formatTable(['point', 'result', 'what is so'], rows, terminal.paint)}\n`)
  for (const point of points.filter(differs)) terminal.print(deviationText(terminal, point))
  if (changes !== undefined) terminal.print(changesText(terminal, changes))
  if (report.isAuthorized === false) terminal.print('Upstream refuses the credentials: nothing more was asked.')
  else if (people === 0) terminal.print('Nobody was found whose records could be read: name people with --profile.')
  terminal.print(
    `${formatCount(requests, 'request')} about ${people} people. Points that differ: ${harmful} act on correctness, ${harmless} are harmless.`,
  )
}

function deviationText({ paint }: Terminal, { point, state, specified, says, request, setting }: PointReport): string {
  const lines = { specification: specified, upstream: says.join('; '), request, setting }
  const shown = Object.entries(lines).flatMap(([name, text]) => (text ? [`    ${name.padEnd(15)}${text}`] : []))
  return [paint(stateShades[state] ?? 'odd', `${point}: ${stateWords[state]}`), ...shown, ''].join('\n')
}

function changesText({ paint }: Terminal, changes: readonly ContractChange[]): string {
  if (changes.length === 0) return 'Nothing has changed since it was saved.\n'
  const lines = changes.map(({ subject, state, says }) => paint(stateShades[state] ?? 'odd', `  ${subject}: ${says}`))
  return ['Changed since it was saved:', ...lines, ''].join('\n')
}
