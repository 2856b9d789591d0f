import '../../../web/browser/design.css'
import './console.css'
import { render } from 'preact'
import { ConsolePage } from './console-page.tsx'
import { openConsoleSession } from './console-state.ts'

const root = document.querySelector('#app')
if (root) {
  await openConsoleSession()
  render(<ConsolePage />, root)
}
