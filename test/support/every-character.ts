const LAST_CODE_POINT = 0x10ffff
/** Up to here each character has texts of its own; the others come 64 to a text. */
const ALONE_UP_TO = 0x3000
const isSurrogate = (codePoint: number) => codePoint >= 0xd800 && codePoint <= 0xdfff

/** Texts that hold every character but U+0000, which Postgres does not know: alone, between others, and twice. */
export function everyCharacter(): string[] {
  const texts: string[] = []
  for (let codePoint = 1; codePoint < ALONE_UP_TO; codePoint += 1) {
    const character = String.fromCodePoint(codePoint)
    texts.push(character, `a${character}b`, character.repeat(2))
  }
  for (let first = ALONE_UP_TO; first <= LAST_CODE_POINT; first += 64) {
    const codePoints = Array.from({ length: 64 }, (_, index) => first + index).filter((each) => !isSurrogate(each))
    if (codePoints.length > 0) texts.push(String.fromCodePoint(...codePoints))
  }
  return texts
}
