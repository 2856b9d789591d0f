/** Numbers that look random, from the same seed the same. */
export function createSeries(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

export function mutated(data: Buffer, next: (below: number) => number): Buffer {
  const bytes = Buffer.from(data)
  for (let change = 0; change <= next(6); change += 1)
    bytes[next(bytes.length)] = next(2) === 0 ? next(256) : 32 + next(95)
  return next(4) === 0 ? bytes.subarray(0, next(bytes.length)) : bytes
}
