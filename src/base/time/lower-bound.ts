/** The first of `length` indexes for which `isBefore` is false, by binary search; the indexes before it must come first. */
export function lowerBound(length: number, isBefore: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
