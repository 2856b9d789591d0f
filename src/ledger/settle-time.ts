/** What bounds the settle time of every stream, and when what was pushed is read again. */
export type SettleSettings = {
  readonly minMs: number
  readonly maxMs: number
  /** See `SettleRule`. */
  readonly intervalsMs: readonly number[]
}

/** A stream that settles at once, such as a snapshot, does so within all bounds. */
export function boundedSettleMs(settleMs: number, { minMs, maxMs }: SettleSettings): number {
  return settleMs === 0 ? 0 : Math.max(minMs, Math.min(maxMs, settleMs))
}
