import type { TestPipeline } from '../../support/test-pipeline.ts'

/** Texts as a hostile upstream would choose them. */
export const hostile = {
  script: `<script>document.title='run'</script><img src=x onerror="document.title='run'">`,
  bidi: '\u202egnol yrev\u202c and \u0007 bell',
  long: 'no end '.repeat(1500),
}

/** A person whose name is a script, one with a long name. */
export const oddNames = { script: `<img src=x onerror=alert(1)>`, long: 'x'.repeat(100) }

/** Adds people with failures, refused windows and records in quarantine, whose texts are hostile. */
export async function addFaultyPeople({ addProfiles, rows }: TestPipeline): Promise<void> {
  const [odd = '', long = ''] = await addProfiles(oddNames.script, oddNames.long)
  await rows(`update vitalsync.profiles set due_at = 'infinity' where id = any($1)`, [[odd, long]])
  const reasons = Object.values(hostile)
  for (const [index, reason] of reasons.entries()) {
    await rows(
      `insert into vitalsync.refusals (profile_id, stream, span, status, reason, first_at, last_at, next_try_at)
       values ($1, 'scores', tstzrange(date_trunc('day', now()) - $2 * interval '1 day', date_trunc('day', now()) - ($2 - 1) * interval '1 day'), 422, $3, now() - interval '1 day', now(), now() + interval '1 hour')`,
      [odd, index + 2, reason],
    )
    await rows(
      `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, local_date, first_seen_at, last_seen_at)
       values ($1, 'scores', 'pull', sha256($2::bytea), 'value', $3, $4, current_date - $5::int, now(), now())`,
      [odd, `q${index}`, reason, JSON.stringify({ type: 'sleep', value: hostile.script, note: reason }), index + 3],
    )
  }
  await addFailure(rows, long)
}

/** A job that failed with `upstream answers 503`. */
export async function addFailure(rows: TestPipeline['rows'], profileId: string): Promise<void> {
  await rows(
    `insert into vitalsync.failures (profile_id, job, reason, attempts, first_at, last_at)
     values ($1, 'sync-profile', 'upstream answers 503', 5, now(), now())`,
    [profileId],
  )
}
