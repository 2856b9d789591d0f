/** The tests of all screens, in one file: they share one world, and one browser. */
import './now-screen.ts'
import './coverage-screen.ts'
import './failures-screen.ts'
import './access.ts'
import './other-screens.ts'
import './person-screen.ts'
import './queue-screen.ts'
import './run-screen.ts'
