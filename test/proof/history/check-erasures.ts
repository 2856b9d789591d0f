import { eventsOf, type RunSeen, type Violation } from './rules.ts'

/** Erased people stay erased: no row, no trace upstream, and no way back. */
export function checkErasures({ events, final }: RunSeen): Violation[] {
  const erasures = Map.groupBy(eventsOf(events, 'erasure'), ({ profile }) => profile)
  return [...erasures].flatMap(([profile, tries]) => {
    const done = tries.find(({ outcome }) => outcome === 'acknowledged')
    if (!done) return [{ rule: 'erasure never ended', text: profile }]
    const found: Violation[] = []
    for (const { table, rows } of final.rowsOfErased.filter((left) => left.profile === profile))
      found.push({ rule: 'row of an erased person', text: `${profile}: ${rows} in ${table}` })
    const later = final.witnessed.filter(({ profileId, atMs }) => profileId === done.profileId && atMs > done.atMs)
    for (const { kind, atMs } of later)
      found.push({ rule: 'row written after the erasure', text: `${profile}: ${kind} at ${atMs}` })
    const wasAdded = eventsOf(events, 'revival').some((revival) => revival.profile === profile && revival.added)
    if (wasAdded || final.upstreamProfiles.includes(profile))
      found.push({ rule: 'erased person came back', text: wasAdded ? `${profile} here` : `${profile} upstream` })
    return found
  })
}
