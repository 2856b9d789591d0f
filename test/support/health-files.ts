import { inflateRawSync } from 'node:zlib'
import { appleHealth } from '../../src/intake/formats/apple-health/apple-health.ts'
import type { ExportFile, HealthFormat } from '../../src/intake/formats/export-format.ts'
import { importHealthFiles } from '../../src/intake/import-health-files.ts'
import { noProgress } from '../../src/intake/kept-progress.ts'
import type { HeartRateDetail } from '../../src/intake/thinned-heart-rate.ts'
import type { OutboxItem } from '../../src/pipeline/transfer/parcel.ts'
import { isOlderForm } from '../../src/pipeline/warehouse/outbox/add-items.ts'

/** A file in memory, which comes in chunks of `chunkBytes`. */
export function fileOf(name: string, content: string | Buffer, chunkBytes = 65_536): ExportFile {
  const bytes = Buffer.from(content)
  return {
    name,
    sizeBytes: bytes.length,
    open: async () =>
      (async function* () {
        for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
      })(),
  }
}

/** A log as it would be pushed, with the fields that tests look at. */
export type PushedLog = {
  id: string
  dataType: string
  value: number
  unit: string
  source: string
  deviceType: string
  deviceId?: string
  recordingMethod: string
  aggregation?: string
  periodicity?: string
  startDateTime: string
  endDateTime: string
  modifiedDateTime?: string
  additionalProperties?: Record<string, string>
}

type Importing = {
  timeZone?: string
  heartRate?: HeartRateDetail
  formats?: readonly HealthFormat[]
  externalId?: string
  fromMs?: number
}

/** Imports files into a map, as the outbox would keep them: one log an id, the last form counts. */
export async function importInto(outbox: Map<string, string>, files: readonly ExportFile[], options: Importing = {}) {
  const { timeZone, heartRate = 'raw', formats = [appleHealth], externalId = 'ada', fromMs = -Infinity } = options
  const rejects: Array<{ place: string; reason: string }> = []
  const result = await importHealthFiles({
    files,
    formats,
    itemOptions: { externalId, timeZone, fromMs, toMs: Infinity, stream: 'data-logs' },
    heartRate,
    begin: noProgress.begin,
    target: {
      resolve: async () => new Map([[externalId, { profileId: '1' }]]),
      add: async (items) => countInto(outbox, items),
      reject: async (more) => void rejects.push(...more.map((rejected) => ({ place: '', ...rejected }))),
      progressed: async () => undefined,
      signal: new AbortController().signal,
    },
    readBytes: () => undefined,
  })
  return { ...result, rejects, logs: [...outbox.values()].map((body): PushedLog => JSON.parse(body)) }
}

/** As the outbox counts: of one id in one call the last form counts, and a form that the source changed earlier is a duplicate. */
function countInto(outbox: Map<string, string>, items: readonly OutboxItem[]) {
  const latest = new Map<string, OutboxItem>()
  for (const item of items) if (!isOlderForm(item, latest.get(item.itemKey)?.modifiedMs)) latest.set(item.itemKey, item)
  const changed = [...latest.values()].filter((item) => {
    const { itemKey, body } = item
    const stored: Partial<PushedLog> = JSON.parse(outbox.get(itemKey) ?? '{}')
    if (stored.modifiedDateTime && isOlderForm(item, Date.parse(stored.modifiedDateTime))) return false
    const isNew = outbox.get(itemKey) !== body
    outbox.set(itemKey, body)
    return isNew
  })
  return { accepted: changed.length, duplicate: items.length - changed.length }
}

/** The logs of one file, and what else the import says of it. */
export const importOne = (file: ExportFile, options: Importing = {}) => importInto(new Map(), [file], options)

/** The entries of a zip that the writers wrote. */
export function entriesOf(zip: Buffer): Array<{ name: string; data: Buffer }> {
  const entries = []
  for (let at = 0; zip.readUInt32LE(at) === 0x04034b50; ) {
    const begin = at + 30 + zip.readUInt16LE(at + 26)
    const end = begin + zip.readUInt32LE(at + 18)
    entries.push({ name: zip.toString('utf8', at + 30, begin), data: inflateRawSync(zip.subarray(begin, end)) })
    at = end
  }
  return entries
}
