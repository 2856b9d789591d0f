import type { ComponentType } from 'preact'
import { CoverageScreen } from './screens/coverage.tsx'
import { FailuresScreen } from './screens/failures.tsx'
import { NowScreen } from './screens/now.tsx'
import { PeopleScreen } from './screens/people.tsx'
import { PersonScreen } from './screens/person.tsx'
import { QuarantineScreen } from './screens/quarantine.tsx'
import { QuestionsScreen } from './screens/questions.tsx'
import { RunsScreen } from './screens/runs.tsx'

/** A view of the dashboard. The path of the address chooses it; parts in braces are given to it. */
export type Screen = {
  readonly path: string
  /** The word in the navigation; undefined: reached from other views. */
  readonly label?: string
  readonly title: string
  readonly view: ComponentType<{ params: Readonly<Record<string, string>> }>
}

/** In the order of the navigation. */
export const screens: readonly Screen[] = [
  { path: '/', label: 'Now', title: 'Now', view: NowScreen },
  { path: '/coverage', label: 'Coverage', title: 'Coverage', view: CoverageScreen },
  { path: '/people', label: 'People', title: 'People', view: PeopleScreen },
  { path: '/people/{id}', title: 'Person', view: PersonScreen },
  { path: '/failures', label: 'Failures', title: 'Failures and retrying', view: FailuresScreen },
  { path: '/runs', label: 'Runs', title: 'Runs', view: RunsScreen },
  { path: '/runs/{id}', title: 'Run', view: RunsScreen },
  { path: '/questions', label: 'Questions', title: 'Questions', view: QuestionsScreen },
  { path: '/quarantine', label: 'Quarantine', title: 'Quarantine', view: QuarantineScreen },
]

export function screenAt(path: string): { screen: Screen; params: Record<string, string> } | undefined {
  for (const screen of screens) {
    const match = new RegExp(`^${screen.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`).exec(path)
    if (match) return { screen, params: { ...match.groups } }
  }
  return undefined
}
