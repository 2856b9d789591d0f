/** SQL for an instant as milliseconds since 1970. */
export const epochMsSql = (instant: string): string => `(extract(epoch from ${instant}) * 1000)::float8`

/**
 * SQL for a multirange as JSON that `spansFromPairs` reads; null where it is empty. Most multiranges are one range, and for
 * one range Postgres needs half the time without `unnest`.
 */
export const spanPairsSql = (multirange: string): string => `case
  when isempty(${multirange}) then null
  when ${multirange} = range_merge(${multirange})::tstzmultirange
    then json_build_array(json_build_array(${epochMsSql(`lower(${multirange})`)}, ${epochMsSql(`upper(${multirange})`)}))
  else (select json_agg(json_build_array(${epochMsSql('lower(r)')}, ${epochMsSql('upper(r)')})) from unnest(${multirange}) r)
end`

/** SQL for an exponential backoff: 15 minutes after the first attempt, doubled with each further attempt, at most `max`. */
export const backoffSql = (attempts: string, max: string): string =>
  `least(interval '15 minutes' * power(2, least(${attempts} - 1, 12)), interval '${max}')`

/**
 * SQL for the first instant at which a record of the day may begin, with every offset from UTC, and for the first after them all. A night
 * begins at the noon before its day.
 */
export const recordStartsSql = (day: string): { first: string; end: string } => {
  const midnight = `${day}::timestamp at time zone 'UTC'`
  return { first: `${midnight} - interval '26 hours'`, end: `${midnight} + interval '36 hours'` }
}
