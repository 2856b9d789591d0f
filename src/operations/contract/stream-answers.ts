import { parseInstant } from '../../base/time/instant.ts'
import type { Span } from '../../base/time/spans.ts'
import { DAY } from '../../base/time/units.ts'
import { type Fields, keyColumns, type PulledStream } from '../../pipeline/transfer/stream.ts'
import { type Exchange, type Question, recordsOf, type Seen } from './contract-point.ts'

/** How many people are asked about at most. */
export const PEOPLE_MAX = 3
const wholeKey = (stream: PulledStream, person: number) => `${stream.name}/whole/${person}`

export function windowQuestion(
  stream: PulledStream,
  { key, person, window, shown }: { key: string; person: number; window: Span; shown?: Question['shownQuery'] },
): Question {
  const shownQuery = shown === undefined ? {} : { shownQuery: shown }
  return {
    key: `${stream.name}/${key}`,
    operation: stream.operation,
    person,
    query: stream.query?.(window) ?? {},
    ...shownQuery,
  }
}

/** The longest window that the pipeline asks for. It ends before the present day, whose records change by the hour. */
export function wholeWindow({ windowMs }: PulledStream, { startedAtMs }: Seen): Span {
  const endMs = (Math.floor(startedAtMs / DAY) - 1) * DAY
  return { startMs: endMs - windowMs, endMs }
}

export function wholeQuestions(stream: PulledStream, seen: Seen): readonly Question[] {
  return Array.from({ length: seen.people }, (_, person) =>
    stream.kind === 'snapshot'
      ? { key: wholeKey(stream, person), operation: stream.operation, person }
      : windowQuestion(stream, { key: `whole/${person}`, person, window: wholeWindow(stream, seen) }),
  )
}

export const wholeAnswers = (stream: PulledStream, seen: Seen): readonly Exchange[] =>
  Array.from({ length: seen.people }, (_, person) => seen.answer(wholeKey(stream, person)) ?? []).flat()

/** The answer with the most records: what is asked further is asked about that person. */
export function richest(stream: PulledStream, seen: Seen): Exchange | undefined {
  const answers = wholeAnswers(stream, seen).filter((answer) => recordsOf(answer).length > 0)
  return answers.toSorted((a, b) => recordsOf(b).length - recordsOf(a).length)[0]
}

export const personOf = ({ question }: Exchange) => (typeof question.person === 'number' ? question.person : 0)

function instantMsOf(record: Fields | undefined, fields: readonly string[]): number | undefined {
  for (const field of fields) {
    const value = record?.[field]
    const instant = typeof value === 'string' ? parseInstant(value) : undefined
    if (instant) return instant.epochMs
  }
  return undefined
}

const fromOf = (stream: PulledStream, column: string | undefined) =>
  stream.columns.find(({ name }) => name === column)?.from ?? []

export type Period = { readonly record: Fields; readonly startMs: number; readonly endMs: number }

function periodOf(stream: PulledStream, record: Fields): Period | undefined {
  const startMs = instantMsOf(record, fromOf(stream, stream.startColumn))
  if (startMs === undefined) return undefined
  return { record, startMs, endMs: instantMsOf(record, fromOf(stream, stream.endColumn)) ?? startMs }
}

export const periodsOf = (stream: PulledStream, answer: Exchange | undefined): readonly Period[] =>
  recordsOf(answer).flatMap((record) => periodOf(stream, record) ?? [])

/** The record's natural key, by which the warehouse knows it. */
export const keyOf = (stream: PulledStream, record: Fields) =>
  JSON.stringify(
    keyColumns(stream).map(({ from, absent }) => from.map((name) => record[name]).find((v) => v != null) ?? absent),
  )
