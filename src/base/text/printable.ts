/** Control characters, which move the cursor or begin an escape sequence, and marks that reorder what is shown. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** A text for one line or cell of a terminal: no character of it does anything but show itself. */
export const printableLine = (text: string): string => text.replace(unprintable, '\ufffd')

const ESCAPE = String.fromCharCode(27)
const colourOrSpacing = new RegExp(`(${ESCAPE}\\[\\d{1,2}m|[\\n\\t])`)

/** A whole output: newlines, tabs and our own colours stay. */
export const printableText = (text: string): string =>
  text
    .split(colourOrSpacing)
    .map((part, index) => (index % 2 === 1 ? part : printableLine(part)))
    .join('')

/** JSON in which such characters are written as escapes: the same value for a program. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
