/**
 * A seeded pseudo-random generator (sfc32): the same seed gives the same numbers on every machine and in every run. It is
 * small and fast, and for sample data only: no secret may be drawn from it.
 */
export type SeededRandom = ReturnType<typeof createSeededRandom>

/** A hash of 128 bits (cyrb128, public domain). */
function digest(text: string): readonly [number, number, number, number] {
  let a = 1779033703
  let b = 3144134277
  let c = 1013904242
  let d = 2773480762
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    a = b ^ Math.imul(a ^ unit, 597399067)
    b = c ^ Math.imul(b ^ unit, 2869860233)
    c = d ^ Math.imul(c ^ unit, 951274213)
    d = a ^ Math.imul(d ^ unit, 2716044179)
  }
  a = Math.imul(c ^ (a >>> 18), 597399067)
  b = Math.imul(d ^ (b >>> 22), 2869860233)
  c = Math.imul(a ^ (c >>> 17), 951274213)
  d = Math.imul(b ^ (d >>> 19), 2716044179)
  return [(a ^ b ^ c ^ d) >>> 0, (b ^ a) >>> 0, (c ^ a) >>> 0, (d ^ a) >>> 0]
}

/** The hash of a text as a number in [0, 1). */
export function hashFraction(text: string): number {
  return digest(text)[0] / 4294967296
}

const hexOfBytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const hexOfByte = (word: number, shift: number) => hexOfBytes[(word >>> shift) & 0xff]
const upperHex = (word: number) => `${hexOfByte(word, 24)}${hexOfByte(word, 16)}`
const lowerHex = (word: number) => `${hexOfByte(word, 8)}${hexOfByte(word, 0)}`

/** The hash of a text as a UUID. Faster than `namedUuid`, which hashes with SHA-1. */
export function hashUuid(text: string): string {
  const [a, b, c, d] = digest(text)
  const version = (b & 0xffff0fff) | 0x4000
  const variant = (c & 0x3fffffff) | 0x80000000
  return `${upperHex(a)}${lowerHex(a)}-${upperHex(version)}-${lowerHex(version)}-${upperHex(variant)}-${lowerHex(variant)}${upperHex(d)}${lowerHex(d)}`
}

/** A generator whose seed is the given parts together (sfc32, public domain). */
export function createSeededRandom(...seedParts: ReadonlyArray<string | number>) {
  let [a, b, c, d] = digest(seedParts.join('\u0000'))
  const next = () => {
    const sum = (a + b + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / 4294967296
  }
  const between = (low: number, high: number) => low + (high - low) * next()
  return {
    /** A number in [0, 1). */
    next,
    between,
    /** A whole number, both ends included. */
    integer: (low: number, high: number) => Math.floor(between(low, high + 1)),
    /** Normally distributed, never further than three standard deviations from the mean. */
    normal: (mean: number, deviation: number) => {
      const standard = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()) // Box and Muller (1958)
      return mean + deviation * Math.max(-3, Math.min(3, standard))
    },
    chance: (probability: number) => next() < probability,
    pick: <T>(items: readonly [T, ...T[]]) => items[Math.floor(next() * items.length)] ?? items[0],
  }
}
