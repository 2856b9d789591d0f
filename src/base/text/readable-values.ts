export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `1 profile`, `2 profiles`. */
export const formatCount = (count: number, noun: string): string =>
  `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`

export const formatNumber = (value: number): string => value.toLocaleString('en-US')

/** `2.5 %`, and `0.017 %` for a share below a hundredth. */
export const formatPercent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.01 ? 3 : 1)} %`

/** `2026-07-11 03:00`, in UTC; empty without an instant. */
export const formatMinute = (at: Date | null): string =>
  at === null ? '' : at.toISOString().slice(0, 16).replace('T', ' ')

const byteUnits = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const

/** Bytes with three digits at most, in units of 1,024. */
export function formatBytes(bytes: number): string {
  const power = Math.min(byteUnits.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1024 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${byteUnits[power]}`
}
