import { TextDecoder } from 'node:util'
import type { ExportFile } from './formats/export-format.ts'

/** A file whose text is UTF-16, as some programs store tables, is read as UTF-8. It is known by its byte order mark. */
export function asUtf8(file: ExportFile): ExportFile {
  return { ...file, open: async () => utf8Chunks(await file.open()) }
}

async function* utf8Chunks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begin: Buffer | undefined = Buffer.alloc(0)
  let decoder: TextDecoder | undefined
  for await (const chunk of chunks) {
    const bytes: Buffer = begin ? Buffer.concat([begin, chunk]) : chunk
    if (begin && bytes.length < 2) {
      begin = bytes
      continue
    }
    if (begin) decoder = decoderOf(bytes)
    begin = undefined
    yield decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : bytes
  }
  const rest = begin ?? Buffer.from(decoder?.decode() ?? '')
  if (rest.length > 0) yield rest
}

function decoderOf(bytes: Buffer): TextDecoder | undefined {
  const mark = bytes.readUInt16BE(0)
  if (mark === 0xfffe) return new TextDecoder('utf-16le')
  return mark === 0xfeff ? new TextDecoder('utf-16be') : undefined
}
