import '../../web/browser/design.css'
import './dashboard.css'
import { render } from 'preact'
import { openSession } from './dashboard-state.ts'
import { DashboardPage } from './shell.tsx'

const root = document.querySelector('#app')
if (root) {
  await openSession()
  render(<DashboardPage />, root)
}
