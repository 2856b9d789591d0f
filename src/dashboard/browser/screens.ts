import type { Screen } from '../../web/browser/page-shell.tsx'
import { CoverageScreen } from './screens/coverage.tsx'
import { FailuresScreen } from './screens/failures.tsx'
import { NowScreen } from './screens/now.tsx'
import { PeopleScreen } from './screens/people.tsx'
import { PersonScreen } from './screens/person.tsx'
import { QuarantineScreen } from './screens/quarantine.tsx'
import { QuestionsScreen } from './screens/questions.tsx'
import { RunsScreen } from './screens/runs.tsx'

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
