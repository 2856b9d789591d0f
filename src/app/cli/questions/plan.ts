import type { Command } from 'commander'
import {
  type CliProcess,
  examples,
  jsonOption,
  parseDateOption,
  type SelectionOptions,
  selectionOf,
  withSelectionOptions,
} from '../options.ts'

type PlanCliOptions = SelectionOptions & { from?: Date; to?: Date; json: boolean }

export function declarePlan(program: Command, cli: CliProcess): void {
  withSelectionOptions(program.command('plan'))
    .description(
      'how many windows and requests a sync, or a back-fill of a range, would take; sends no request upstream',
    )
    .option('--from <date>', 'start of the range of a back-fill; absent: the plan of a sync', parseDateOption)
    .option('--to <date>', 'end of the range; today when absent', parseDateOption)
    .addOption(jsonOption('print the plan as JSON'))
    .addHelpText('after', examples('vitalsync plan', 'vitalsync plan --from 2026-01-01 --to 2026-04-01'))
    .action(async ({ json, from, to, ...options }: PlanCliOptions) => {
      const { runPlan } = await import('../../commands/questions/plan.ts')
      cli.exit(await runPlan(cli.context({ json }), { ...selectionOf(options), from, to, again: false }))
    })
}
