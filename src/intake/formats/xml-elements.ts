import { StringDecoder } from 'node:string_decoder'
import { Parser } from 'htmlparser2'
import { Problem, UsageProblem } from '../../errors.ts'

export type ElementReader = {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  close(name: string): void
}

/** No element of an export is deeper, and none has so much text between two tags. */
const DEPTH_MAX = 32
const BYTES_BETWEEN_TAGS_MAX = 1024 * 1024

/**
 * Parses XML from a stream and tells of each element. It forgives what exports are known for: a document type that is no
 * valid one, control characters, a missing end. It refuses what no export has: declared entities, which could grow without
 * bound, deep nesting, and tags without an end. Entities are never expanded but for the five of XML and numbers.
 */
export function createXmlElements(fileName: string, reader: ElementReader) {
  const decoder = new StringDecoder('utf8')
  let depth = 0
  let quietBytes = 0
  let isEnding = false
  const refuse = (why: string) => {
    throw new UsageProblem(`read ${fileName}: ${why}`, { hint: 'No app exports such a file; export it again.' })
  }
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        quietBytes = 0
        depth += 1
        if (depth > DEPTH_MAX) refuse(`its elements are nested deeper than ${DEPTH_MAX}`)
        reader.open(name, attributes)
      },
      onclosetag(name) {
        quietBytes = 0
        depth -= 1
        if (!isEnding) reader.close(name)
      },
      ontext() {
        quietBytes = 0
      },
      onprocessinginstruction(_name, text) {
        quietBytes = 0
        if (/!ENTITY\b/i.test(text)) refuse('it declares entities, which may grow without bound')
      },
      onerror(error) {
        throw error instanceof Problem ? error : new UsageProblem(`read ${fileName}: ${error.message}`)
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  const write = (text: string, bytes: number) => {
    quietBytes += bytes
    parser.write(text)
    if (quietBytes > BYTES_BETWEEN_TAGS_MAX) refuse('a tag has no end within 1 MiB')
  }
  return {
    write: (chunk: Buffer) => write(decoder.write(chunk), chunk.length),
    /** Throws when an element has no end: the file was cut off. */
    end() {
      write(decoder.end(), 0)
      isEnding = true
      if (depth > 0) refuse('it ends in the middle')
      parser.end()
    },
  }
}
