import { hexDigestOf } from '../../../base/text/digest.ts'

type AppleDevice = { readonly deviceType: string; readonly deviceId: string | undefined }

const TEXT_MAX = 500
const CACHE_MAX = 1000
const parts = ['name', 'manufacturer', 'model', 'hardware'] as const

/**
 * Reads `<<HKDevice: 0x2830bd0e0>, name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch6,1, software:9.1>`.
 * The address changes from record to record and the software from month to month, so neither is part of the identity.
 */
export function createDeviceParser(): (text: string | undefined, source: string) => AppleDevice {
  const known = new Map<string, AppleDevice>()
  return (text = '', source) => {
    const told = text.slice(0, TEXT_MAX).replace(/HKDevice: 0x[0-9a-f]+/i, '')
    const key = `${told}|${source}`
    const before = known.get(key)
    if (before) return before
    if (known.size >= CACHE_MAX) known.clear()
    const device = deviceOf(told, source)
    known.set(key, device)
    return device
  }
}

function deviceOf(text: string, source: string): AppleDevice {
  const found = parts.map((part) => text.match(new RegExp(`\\b${part}:(.*?)(?:, [a-zA-Z ]+:|>?$)`))?.[1] ?? '')
  const isNamed = found.some((part) => part !== '')
  return {
    deviceType: kindOf(isNamed ? found.join(' ') : source),
    deviceId: isNamed ? hexDigestOf(JSON.stringify(found), 32) : undefined,
  }
}

const kinds: ReadonlyArray<readonly [word: RegExp, kind: string]> = [
  [/watch/i, 'watch'],
  [/phone|ipad|ipod/i, 'phone'],
  [/scale/i, 'scale'],
  [/\bring\b/i, 'ring'],
  [/strap/i, 'chest_strap'],
  [/\bband\b/i, 'fitness_band'],
]

const kindOf = (text: string): string => kinds.find(([word]) => word.test(text))?.[1] ?? 'unknown'
