/** The tests of all screens, in one file: they share one sandbox, and one browser. */
import './console-access.ts'
import './query-builder.ts'
import './keys-and-people.ts'
import './hostile-and-narrow.ts'
