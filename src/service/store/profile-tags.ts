import type pg from 'pg'
import type { TagAnswer, TagInput } from '../../base/contract/tag.ts'
import { namedUuid } from '../../base/text/digest.ts'
import { checkedInstant, formatInstant } from '../../base/time/instant.ts'
import { columnArrays, type UnnestColumn, unnestParameters } from './array-literal.ts'
import type { ClosedRange } from './derived-reader.ts'
import { type Queryable, withTransaction } from './service-pool.ts'
import { lockProfileRow } from './service-profiles.ts'

const tagNamespace = '0c6fd1c5-7a43-5d6e-8d3c-0bb1b9dcb8a1'

type TagRow = {
  id: string
  type: 'event' | 'state'
  name: string
  category: string | null
  value: string | null
  source: string
  start_at: Date
  end_at: Date | null
  start_offset_minutes: number
  end_offset_minutes: number | null
  additional_properties: Record<string, string> | null
}

type IdentifiedTag = TagInput & { id: string }

const uploadColumns = [
  ['id', 'uuid', (tag) => tag.id],
  ['type', 'text', (tag) => tag.type],
  ['name', 'text', (tag) => tag.name],
  ['category', 'text', (tag) => tag.category],
  ['value', 'text', (tag) => tag.value],
  ['source', 'text', (tag) => tag.source],
  ['start_at', 'timestamptz', (tag) => isoOf(tag.startDateTime)],
  ['end_at', 'timestamptz', (tag) => tag.endDateTime && isoOf(tag.endDateTime)],
  ['start_offset_minutes', 'int2', (tag) => checkedInstant(tag.startDateTime).offsetMinutes],
  ['end_offset_minutes', 'int2', (tag) => (tag.endDateTime ? checkedInstant(tag.endDateTime).offsetMinutes : null)],
  ['additional_properties', 'jsonb', (tag) => tag.additionalProperties && JSON.stringify(tag.additionalProperties)],
] as const satisfies ReadonlyArray<UnnestColumn<IdentifiedTag>>

const names = uploadColumns.map(([name]) => name)
const tagColumns = names.map((name) => `t.${name}`).join(', ')
const key = ['type', 'name', 'source', 'start_at']

const storeTagsSql = `
with input as (
  select * from unnest(${unnestParameters(uploadColumns, 3)}) with ordinality as i(${names.join(', ')}, ordinal)
), written as (
  insert into service.tags as t (profile_id, received_at, ${names.join(', ')})
  select $1::uuid, $2::timestamptz, ${names.join(', ')} from input order by ordinal
  on conflict (profile_id, ${key.join(', ')}) do update set ${['received_at', ...names]
    .filter((name) => name !== 'id' && !key.includes(name))
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}
  returning ${tagColumns}
)
select ${tagColumns} from input i join written t using (${key.join(', ')}) order by i.ordinal`

/** Stores tags and returns them as stored, in the order sent; undefined when the profile is gone. */
export async function storeTags(
  pool: pg.Pool,
  upload: { profileId: string; tags: readonly TagInput[]; nowAt: Date },
): Promise<TagAnswer[] | undefined> {
  const { profileId, nowAt } = upload
  const identified = upload.tags.map((tag) => ({
    ...tag,
    id: tag.id?.toLowerCase() ?? namedUuid(tagNamespace, [profileId, ...tagKeyOf(tag)]),
  }))
  const tags = lastOf(
    lastOf(identified, ({ id }) => id),
    (tag) => JSON.stringify(tagKeyOf(tag)),
  )
  return withTransaction(pool, async (tx) => {
    if (!(await lockProfileRow(tx, profileId))) return undefined
    await deleteFormerTags(tx, profileId, tags)
    const { rows } = await tx.query<TagRow>({
      name: 'store-tags',
      text: storeTagsSql,
      values: [profileId, nowAt, ...columnArrays(uploadColumns, tags)],
    })
    return rows.map(tagAnswer)
  })
}

/** One id is one tag: a tag that is sent with another name, source or start than before replaces the stored tag. */
async function deleteFormerTags(tx: Queryable, profileId: string, tags: readonly IdentifiedTag[]): Promise<void> {
  await tx.query({
    name: 'delete-former-tags',
    text: `delete from service.tags t using unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
             as i(id, type, name, source, start_at)
           where t.profile_id = $1 and t.id = i.id
             and (t.type, t.name, t.source, t.start_at) is distinct from (i.type, i.name, i.source, i.start_at)`,
    values: [
      profileId,
      tags.map(({ id }) => id),
      tags.map(({ type }) => type),
      tags.map(({ name }) => name),
      tags.map(({ source }) => source),
      tags.map(({ startDateTime }) => isoOf(startDateTime)),
    ],
  })
}

function isoOf(text: string): string {
  return new Date(checkedInstant(text).epochMs).toISOString()
}

type TagFilter = ClosedRange & {
  types?: readonly string[] | undefined
  categories?: readonly string[] | undefined
}

/** A profile's tags whose time touches the range of the filter, newest first. An open state has no end. */
export async function readTags(db: Queryable, profileId: string, filter: TagFilter): Promise<TagAnswer[]> {
  const { rows } = await db.query<TagRow>({
    name: 'read-tags',
    text: `select ${tagColumns} from service.tags t
           where t.profile_id = $1
             and ($2::timestamptz is null
                  or coalesce(t.end_at, case when t.type = 'event' then t.start_at else 'infinity' end) >= $2)
             and ($3::timestamptz is null or t.start_at <= $3)
             and ($4::text[] is null or t.type = any($4))
             and ($5::text[] is null or t.category = any($5))
           order by t.start_at desc, t.name, t.id`,
    values: [profileId, filter.firstAt ?? null, filter.lastAt ?? null, filter.types ?? null, filter.categories ?? null],
  })
  return rows.map(tagAnswer)
}

function tagAnswer(row: TagRow): TagAnswer {
  const end = row.end_at && { epochMs: row.end_at.getTime(), offsetMinutes: row.end_offset_minutes ?? 0 }
  return {
    id: row.id,
    type: row.type,
    name: row.name,
    ...(row.category === null ? {} : { category: row.category }),
    ...(row.value === null ? {} : { value: row.value }),
    source: row.source,
    startDateTime: formatInstant({ epochMs: row.start_at.getTime(), offsetMinutes: row.start_offset_minutes }),
    ...(end === null ? {} : { endDateTime: formatInstant(end) }),
    ...(row.additional_properties === null ? {} : { additionalProperties: row.additional_properties }),
  }
}

/** The last tag of each key, in the order in which the keys were sent first. */
function lastOf(tags: readonly IdentifiedTag[], keyOf: (tag: IdentifiedTag) => string): IdentifiedTag[] {
  return [...new Map(tags.map((tag) => [keyOf(tag), tag])).values()]
}

function tagKeyOf(tag: TagInput): string[] {
  return [tag.type, tag.name, tag.source, String(checkedInstant(tag.startDateTime).epochMs)]
}
