import { expect, test } from 'vitest'
import { lines, offence } from './sources.ts'

/**
 * Words that the house no longer uses, and the word to use instead. They were private metaphors for something that the
 * trade has a word for, or second names of one thing.
 */
const retired: ReadonlyArray<{ word: RegExp; instead: string }> = [
  { word: /\bshel(f|ves)\b|Shel(f|ved)\b/, instead: 'token store; logs by day' },
  { word: /waiting[- ]room|WaitingRoom/, instead: 'waiters' },
  { word: /\bopenGate\b|\bGateParts\b|\bthe gate\b/, instead: 'rate limiter; authentication of callers' },
  {
    word: /\bBudgetBoard\b|open(Redis|Postgres)Board|\blocal-board\b|(budget|shared) board\b/,
    instead: 'budget store',
  },
  { word: /\bplacesOf\b|\bfreeBeside\b|\bgoAlone\b/, instead: 'fair share, permits, fallback budget' },
  { word: /\bwater ?[lL]evel\b/, instead: 'max-min fair share' },
  { word: /\bBEAT_MS\b|\b(the|next|one|a) beat\b/, instead: 'heartbeat' },
  { word: /token-keeper|TokenKeeper|KeeperParts/, instead: 'token provider' },
  { word: /\bRemembered\b|\bremembered\.ts\b/, instead: 'lru-cache' },
  { word: /near[- ]miss/, instead: 'edit distance, closest word' },
  { word: /\b(cli\/)?rim(\.ts)?\b|\bRim\b/, instead: 'command-line options' },
  { word: /\bdeclare(Looking|Mending|Moving|Running|Syncing)\b/, instead: 'declare and the name of the command' },
  { word: /\beat(s|en)?[- ]?[mM]arks\b|\bmarks it ate\b/, instead: 'delete marks' },
  { word: /\bkept[- ]answers?\b(?!\.test)|\bKeptAnswers?\b/, instead: 'answer cache' },
  { word: /\bServiceRoom\b|\bcontext: room\b|\broom\.(pool|clock|identities)\b/, instead: 'service context' },
  { word: /\bsetAside\b|\bsets? aside\b/, instead: 'quarantine' },
  { word: /\bOddRecord\b|\bodd (record|one)s?\b/, instead: 'invalid record' },
  {
    word: /\bReadRecord\b|\bReadTarget\b|\bStoreRequest\b|\bArriving\b|\bGroupedReading\b/,
    instead: 'reading, due window',
  },
  { word: /\bPlacedOrder\b|\bProducedOrder\b|\bTicket\b/, instead: 'order' },
  { word: /\bscopeOf\b|\bjob\.scope\b/, instead: 'job parameters' },
  { word: /\bwindowOf\b/, instead: 'span' },
  { word: /\bmemory-shelf\b|\bcreateMemoryShelf\b/, instead: 'in-memory token store' },
  { word: /\baddFaultLine\b|\bfault line\b/, instead: 'fault injection' },
  { word: /\bsentTogether\b/, instead: 'pipelined' },
  { word: /\bseams?\b|\bseam[A-Z]/, instead: 'boundary of two windows' },
  { word: /\bburied(Among)?\b|\bisUnburied\b/, instead: 'erased; zombie process' },
]

test('the words that were retired do not come back', () => {
  const read = lines(/\.(tsx?|mjs|md|sql|sh)$/).filter(({ file }) => file !== 'test/house/retired-words.test.ts')
  const back = retired.flatMap(({ word, instead }) =>
    read.filter(({ text }) => word.test(text)).map((line) => `${offence(line)} — say: ${instead}`),
  )
  expect(back).toEqual([])
})

/** Words that leave the reader to look for the noun. */
const withoutNoun = /(^|[.:;!?] )What\b|\b[Ww]hoever\b|\bof which\b/

test('sentences of comments have a noun as their subject', () => {
  const comments = lines(/^(src|jobs|config|test)\/.*\.tsx?$/).flatMap((line) => {
    const [, text] = /^\s*(?:\/\*\*|\*|\/\/) ?(.*)$/.exec(line.text) ?? /\s\/\/ (.*)$/.exec(line.text) ?? []
    return text === undefined ? [] : [{ line, text }]
  })
  const hard = comments.filter(({ text }) => withoutNoun.test(text))
  expect(comments.length).toBeGreaterThan(1000)
  expect(hard.map(({ line }) => offence(line))).toEqual([])
})
