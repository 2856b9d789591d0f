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

test('local names are nouns', () => {
  const pronoun =
    /\b(const|let) [[{]?(.*, )?(one|its|own|told)\b.*=|(?<!\bsum)\((one|its|own|told)[,):]|\b(one|its|own|told) =>/
  const code = lines(/^(src|jobs|config)\/.*\.tsx?$/).filter(({ text }) => proseOf(text) === undefined)
  expect(code.length).toBeGreaterThan(10_000)
  expect(code.filter(({ text }) => pronoun.test(text)).map((line) => `${offence(line)} — say: the noun`)).toEqual([])
})

/**
 * Words that leave the reader to look for the noun, or that the trade has a plain word for. A constant is introduced by what
 * it limits, not by "for so long"; nobody "is told": something is reported, logged, returned or sent.
 */
const hard: ReadonlyArray<{ words: RegExp; instead: string }> = [
  { words: /(^|[.:;!?] )(What|Who|Whom|Of)\b(?!.*\?)/, instead: 'the noun, as the subject' },
  { words: /\b[Ww]hoever\b|\bof which\b/, instead: 'the noun' },
  {
    words: /\b([Ff]or|[Aa]fter) so (long|many|often)\b|\b[Ss]o (many|often)\b/,
    instead: 'what it limits: how long, how many',
  },
  { words: /\b[Tt]old\b|\b[Tt]ells?\b/, instead: 'reports, says, shows, sends, returns' },
  { words: /\banew\b/, instead: 'again, from the beginning, re…' },
  { words: /\bof late\b/, instead: 'recently' },
  { words: /\bby (itself|themselves)\b/, instead: 'automatically, alone, separately' },
]

/** Comments of the line, and the names of tests; undefined where it has neither. */
function proseOf(text: string): string | undefined {
  const [, prose] =
    /^\s*(?:\/\*\*|\*|\/\/) ?(.*)$/.exec(text) ??
    /\s\/\/ (.*)$/.exec(text) ??
    /^\s*(?:test|describe)\b.*?['`](.*)/.exec(text) ??
    []
  return prose
}

const findHard = (prose: string) => hard.find(({ words }) => words.test(prose))

test('comments and names of tests have a noun as their subject, and the words of the trade', () => {
  const read = lines(/^(src|jobs|config|test)\/.*\.tsx?$/).filter(
    ({ file }) => file !== 'test/house/retired-words.test.ts',
  )
  const found = read.flatMap((line) => {
    const reason = findHard(proseOf(line.text) ?? '')
    return reason ? [`${offence(line)} — say: ${reason.instead}`] : []
  })
  expect(read.filter(({ text }) => proseOf(text) !== undefined).length).toBeGreaterThan(1000)
  expect(found).toEqual([])
})

/** The texts that users read: comments on tables and columns, help texts, and what the settings are about. */
function shownTextOf({ file, text }: { readonly file: string; readonly text: string }): string | undefined {
  if (file.endsWith('.sql')) return /(?:^\s*|\s)-- (.*)$/.exec(text)?.[1] ?? /'(.{20,})'/.exec(text)?.[1]
  return /['`](.{20,})['`]/.exec(text)?.[1]
}

test('comments of SQL and texts of the command line use the words of the trade', () => {
  const read = lines(/^src\/.*\/migrations\/.*\.sql$|^src\/app\/cli\/.*\.ts$|^config\/variables\.ts$/)
  const found = read.flatMap((line) => {
    const text = shownTextOf(line) ?? ''
    const reason = hard.slice(1).find(({ words }) => words.test(text))
    return reason ? [`${offence(line)} — say: ${reason.instead}`] : []
  })
  expect(read.filter((line) => shownTextOf(line) !== undefined).length).toBeGreaterThan(500)
  expect(found).toEqual([])
})

test('the documents use the same words, except where a table shows texts of the program', () => {
  const read = lines(/\.md$/).filter(({ text }) => !text.startsWith('|'))
  const found = read.flatMap((line) => {
    const reason = hard.slice(1).find(({ words }) => words.test(line.text))
    return reason ? [`${offence(line)} — say: ${reason.instead}`] : []
  })
  expect(found).toEqual([])
})
