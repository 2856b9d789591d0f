import fc from 'fast-check'
import type { ExportFile } from '../../src/intake/formats/export-format.ts'

/** Places at which a stream of bytes is cut, as shares of its length. The same place twice makes an empty piece. */
export const anyCuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })

export function cutBytes(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = cuts.map((share) => Math.round(share * bytes.length)).sort((a, b) => a - b)
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length))
}

export async function* streamOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}

export function fileInPieces(name: string, bytes: Buffer, pieces: readonly Buffer[]): ExportFile {
  return { name, sizeBytes: bytes.length, open: async () => streamOf(pieces) }
}

/** A text of any characters, with those that lie at the borders of what parsers do: ends of lines, quotes, several bytes. */
export const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom('\n', '\r\n', '\r', '"', '""', ',', ';', '\t', ' ', '&amp;', '&', '<', '>', '\\', '\u0000'),
      fc.constantFrom('ä', '€', '😀', 'e\u0301', '\ufeff', '\u2028', '\u0085'),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(''))
