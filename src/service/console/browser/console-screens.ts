import type { Screen } from '../../../web/browser/page-shell.tsx'
import { AuthenticationScreen } from './screens/authentication.tsx'
import { DemoAppScreen } from './screens/demo-app.tsx'
import { FaultsScreen } from './screens/faults.tsx'
import { KeysScreen } from './screens/keys.tsx'
import { OverviewScreen } from './screens/overview.tsx'
import { QueryScreen } from './screens/query.tsx'
import { OperationScreen, ReferenceScreen } from './screens/reference.tsx'
import { SamplePeopleScreen } from './screens/sample-people.tsx'

const ofSandbox: readonly Screen[] = [
  { path: '/people', label: 'Sample people', title: 'Sample people', view: SamplePeopleScreen },
  { path: '/faults', label: 'Faults', title: 'Faults and journal', view: FaultsScreen },
]

/** In the order of the navigation. */
export const consoleScreens = (isSandbox: boolean): readonly Screen[] => [
  { path: '/', label: 'Overview', title: 'Overview', view: OverviewScreen },
  { path: '/query', label: 'Query builder', title: 'Query builder', view: QueryScreen },
  { path: '/query/{operation}', title: 'Query builder', view: QueryScreen },
  { path: '/keys', label: 'API keys', title: 'API keys', view: KeysScreen },
  ...(isSandbox ? ofSandbox : []),
  { path: '/demo', label: 'Demo app', title: 'Demo app', view: DemoAppScreen },
  { path: '/reference', label: 'Reference', title: 'Reference', view: ReferenceScreen },
  { path: '/reference/{operation}', title: 'Operation', view: OperationScreen },
  { path: '/authentication', label: 'Authentication', title: 'Authentication', view: AuthenticationScreen },
]
