import { columnArrays, type UnnestColumn, unnestParameters } from './array-literal.ts'
import type { Queryable } from './service-pool.ts'

export type StoredDerivedRecord = { id: string; version: number; createdAtIso: string; content: string }

/** The stored records of these derivation units, by id. */
export async function readDerivedRecords(
  tx: Queryable,
  { profileId, units }: { profileId: string; units: readonly string[] },
): Promise<Map<string, StoredDerivedRecord>> {
  const { rows } = await tx.query<{ id: string; version: number; created_at: Date; content: string }>({
    name: 'records-of-units',
    text: 'select id::text, version, created_at, content from service.derived where profile_id = $1 and unit = any($2)',
    values: [profileId, units],
  })
  return new Map(
    rows.map(({ id, version, created_at, content }) => [
      id,
      { id, version, createdAtIso: created_at.toISOString(), content },
    ]),
  )
}

export type DerivedRecordRow = {
  id: string
  kind: string
  name: string
  category: string | null
  periodicity: string | null
  derivationUnit: string
  startMs: number
  endMs: number
  version: number
  createdAtIso: string
  content: string
  body: string
}

const recordColumns = [
  ['id', 'uuid', (row) => row.id],
  ['kind', 'text', (row) => row.kind],
  ['name', 'text', (row) => row.name],
  ['category', 'text', (row) => row.category],
  ['periodicity', 'text', (row) => row.periodicity],
  ['unit', 'text', (row) => row.derivationUnit],
  ['period_start', 'timestamptz', (row) => new Date(row.startMs).toISOString()],
  ['period_end', 'timestamptz', (row) => new Date(row.endMs).toISOString()],
  ['version', 'int', (row) => row.version],
  ['created_at', 'timestamptz', (row) => row.createdAtIso],
  ['content', 'text', (row) => row.content],
  ['body', 'text', (row) => row.body],
] as const satisfies ReadonlyArray<UnnestColumn<DerivedRecordRow>>

const recordColumnNames = recordColumns.map(([name]) => name)
const storeRecordsSql = `insert into service.derived (profile_id, changed_at, ${recordColumnNames.join(', ')})
  select $1, $2, * from unnest(${unnestParameters(recordColumns, 3)})
  on conflict (profile_id, id) do update set changed_at = excluded.changed_at,
    ${recordColumnNames
      .filter((name) => name !== 'id' && name !== 'created_at')
      .map((name) => `${name} = excluded.${name}`)
      .join(', ')}`
const rowsPerStatement = 2000

export async function storeDerivedRecords(
  tx: Queryable,
  { profileId, nowAt, records }: { profileId: string; nowAt: Date; records: readonly DerivedRecordRow[] },
): Promise<void> {
  for (let first = 0; first < records.length; first += rowsPerStatement) {
    const rows = records.slice(first, first + rowsPerStatement)
    await tx.query({
      name: 'store-records',
      text: storeRecordsSql,
      values: [profileId, nowAt, ...columnArrays(recordColumns, rows)],
    })
  }
}

export async function deleteDerivedRecords(tx: Queryable, profileId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.query({
    name: 'delete-records',
    text: 'delete from service.derived where profile_id = $1 and id = any($2::uuid[])',
    values: [profileId, ids],
  })
}
