import { pulledStreams } from '../../../../config/streams.ts'
import { UsageProblem } from '../../../base/errors.ts'
import { reportLines } from '../../../operations/day-report-text.ts'
import { fetchUpstreamReasons } from '../../../operations/fetch-explanation.ts'
import { profileIdsOf, selectedStreams } from '../../../operations/select-profiles.ts'
import { type DayReport, readDayReports } from '../../../pipeline/warehouse/reports/day-report.ts'
import { upstreamThatRuns } from '../../join-engines.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { askAlone, readWarehouse } from '../../with-pipeline.ts'

type WhyOptions = { readonly profile: string; readonly date: string; readonly stream: readonly string[] }

/** Prints whether a person's day is there, or why it is not, with the evidence. */
export async function runWhy(context: CommandContext, { profile, date, stream }: WhyOptions): Promise<void> {
  const { terminal } = context
  const names = selectedStreams(pulledStreams, stream).map(({ name }) => name)
  const found = await readWarehouse(context, async (pool) => {
    const [profileId = ''] = (await profileIdsOf(pool, [profile])) ?? []
    return readDayReports(pool, { profileId, localDate: date, streams: names })
  })
  if (found.length === 0) {
    throw new UsageProblem(`tell why of ${date}: the day is not wanted of this profile`, {
      hint: `It lies before the first wanted day or in the future. Bring it in: vitalsync backfill --from ${date}`,
    })
  }
  const reports = await Promise.all(found.map((report) => withUpstreamReasons(context, report)))
  if (terminal.json) for (const report of reports) terminal.printJson('why', report)
  else terminal.print(reports.map((report) => reportLines(report).join('\n')).join('\n'))
}

/** Adds upstream's own answer where a day has no scores. Nothing depends on it, and no service is started for it. */
async function withUpstreamReasons({ config }: CommandContext, report: DayReport) {
  const { stream, state, externalId, localDate: date } = report
  const upstream = stream === 'scores' && state === 'empty' ? await upstreamThatRuns(config) : undefined
  const day = { externalId, date }
  const upstreamSays = upstream ? await askAlone(upstream, (api) => fetchUpstreamReasons(api, day)) : []
  return { ...report, ...(upstreamSays.length > 0 ? { upstreamSays } : {}) }
}
