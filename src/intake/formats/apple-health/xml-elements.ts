import { StringDecoder } from 'node:string_decoder'
import { Parser } from 'htmlparser2'
import { Problem, UsageProblem } from '../../../base/errors.ts'

type ElementReader = {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  close(name: string): void
}

/** Limits that no element of an export reaches: its depth, and the text between two tags. */
const DEPTH_MAX = 32
const BYTES_BETWEEN_TAGS_MAX = 1024 * 1024

/**
 * Parses XML from a stream and reports each element. It accepts known defects of exports: an invalid document type,
 * control characters, a missing end. It refuses what no export has: declared entities, which could grow without
 * bound, deep nesting, and tags without an end. Entities are never expanded but for the five of XML and numbers.
 */
export function createXmlElements(fileName: string, reader: ElementReader) {
  const decoder = new StringDecoder('utf8')
  const limits = createLimits(fileName)
  let isEnding = false
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        limits.deeper()
        reader.open(name, attributes)
      },
      onclosetag(name) {
        limits.higher()
        if (!isEnding) reader.close(name)
      },
      ontext: limits.heard,
      onprocessinginstruction(_name, text) {
        limits.heard()
        if (/!ENTITY\b/i.test(text)) limits.refuse('it declares entities, which may grow without bound')
      },
      onerror(error) {
        throw error instanceof Problem ? error : new UsageProblem(`read ${fileName}: ${error.message}`)
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  return {
    write(chunk: Buffer) {
      parser.write(decoder.write(chunk))
      limits.silent(chunk.length)
    },
    /** Throws when an element has no end: the file was cut off. */
    end() {
      parser.write(decoder.end())
      isEnding = true
      limits.requireEnd()
      parser.end()
    },
  }
}

function createLimits(fileName: string) {
  let depth = 0
  let quietBytes = 0
  let hasHeard = false
  const refuse = (why: string): never => {
    throw new UsageProblem(`read ${fileName}: ${why}`, { hint: 'No app exports such a file; export it again.' })
  }
  const heard = () => {
    hasHeard = true
  }
  return {
    refuse,
    heard,
    deeper() {
      heard()
      depth += 1
      if (depth > DEPTH_MAX) refuse(`its elements are nested deeper than ${DEPTH_MAX}`)
    },
    higher() {
      heard()
      depth -= 1
    },
    /** After each chunk: a parser that reports no element holds all its input. */
    silent(chunkBytes: number) {
      quietBytes = hasHeard ? 0 : quietBytes + chunkBytes
      hasHeard = false
      if (quietBytes > BYTES_BETWEEN_TAGS_MAX) refuse('a tag has no end within 1 MiB')
    },
    requireEnd() {
      if (depth > 0) refuse('it ends in the middle')
    },
  }
}
