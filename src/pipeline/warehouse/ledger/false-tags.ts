/** Whether the tags of a ledger row's stream were found to be false, in the last 30 days. */
export const falseTagsSql = `exists (select from vitalsync.false_tags f
  where f.stream = l.stream and f.found_at > statement_timestamp() - interval '30 days')`
