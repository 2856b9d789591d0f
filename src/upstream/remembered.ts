/** A map that forgets the longest unused entry when it is full. */
export class Remembered<V> {
  private readonly entries = new Map<string, V>()
  private readonly entriesMax: number

  constructor(entriesMax: number) {
    this.entriesMax = entriesMax
  }

  get(key: string): V | undefined {
    const value = this.entries.get(key)
    if (value === undefined || this.entries.size < this.entriesMax / 2) return value
    this.entries.delete(key)
    this.entries.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    this.entries.delete(key)
    if (this.entries.size >= this.entriesMax) {
      const [oldest] = this.entries.keys()
      if (oldest !== undefined) this.entries.delete(oldest)
    }
    this.entries.set(key, value)
  }

  delete(key: string): void {
    this.entries.delete(key)
  }
}
