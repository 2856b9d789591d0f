import { UsageProblem } from '../../../base/errors.ts'
import { formatCount } from '../../../base/text/readable.ts'
import { readBytesFrom } from '../../../intake/input-file.ts'
import type { Correlation } from '../../../service/evaluate/correlations.ts'
import { type Evaluation, evaluateFigures } from '../../../service/evaluate/evaluate-figures.ts'
import { parseReferenceFigures } from '../../../service/evaluate/reference-file.ts'
import { createSeededRandom } from '../../../service/sandbox/people/seeded-random.ts'
import { findOnlyAccount } from '../../../service/store/credentials/api-keys.ts'
import { withServicePool } from '../../service-accounts.ts'
import { withServiceDatabase } from '../../service-database.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { printResult } from '../../terminal/print-result.ts'
import { formatTable } from '../../terminal/table.ts'

type EvaluateOptions = { readonly file: string; readonly account?: string }

const bytesMax = 64 * 1024 * 1024

/** Prints how closely the derived values run with reference figures: a user who has a reference can judge the model by it. */
export async function runEvaluate(context: CommandContext, { file, ...options }: EvaluateOptions): Promise<void> {
  const { terminal } = context
  const figures = parseReferenceFigures(await readText(file))
  // The same file gives the same intervals.
  const random = createSeededRandom('evaluate')
  const evaluation = await withServiceDatabase(context, (database) =>
    withServicePool(database, async (pool) => {
      const account = options.account ?? (await findOnlyAccount(pool)) ?? 'default'
      const found = await evaluateFigures(pool, { account, figures, random: () => random.next() })
      if (found) return found
      throw new UsageProblem(`evaluate account ${account}: there is no such account`, {
        hint: 'List the accounts with `vitalsync service keys list`, and name one with --account.',
      })
    }),
  )
  printResult(terminal, ['evaluate', evaluation], evaluationText(evaluation))
}

async function readText(file: string): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of await readBytesFrom(file, 0)) {
    bytes += chunk.length
    if (bytes > bytesMax) {
      throw new UsageProblem(`read ${file}: it has more than ${bytesMax} bytes`, { hint: 'Split the file by name.' })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function evaluationText({ figures, persons, personsUnknown, references }: Evaluation): string {
  const unknown = personsUnknown === 0 ? '' : `; ${formatCount(personsUnknown, 'person')} not known here`
  const head = `${formatCount(figures, 'figure')} of ${formatCount(persons, 'person')}${unknown}`
  const tables = references.map(({ name, values }) => {
    const rows = values.map(({ kind, name: derived, all, within, lagged }) => [
      kind,
      derived,
      all.n,
      correlationText(all),
      correlationText(within),
      correlationText(lagged),
    ])
    return `${name}\n${formatTable(['kind', 'name', 'n', 'over all', 'within person', 'day before, within person'], rows)}`
  })
  const meaning =
    'Spearman’s ρ with its 95 % interval (persons drawn again). Within: the mean of each person’s ρ, by days. A factor is its score.'
  return [head, ...tables, meaning].join('\n\n')
}

/** `0.41 (0.35 to 0.47)`; without an interval below five persons, and `-` below ten pairs. */
function correlationText({ rho, from, upTo }: Correlation): string {
  if (rho === null) return '-'
  return from === null || upTo === null
    ? rho.toFixed(2)
    : `${rho.toFixed(2)} (${from.toFixed(2)} to ${upTo.toFixed(2)})`
}
