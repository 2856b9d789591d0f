import type pg from 'pg'
import { formatInstant, type Instant, parseInstant } from '../../contract/instant.ts'
import type { TagAnswer, TagInput } from '../../contract/tag.ts'
import { namedUuid } from '../../named-uuid.ts'
import { type Queryable, withTransaction } from './pool.ts'
import type { ReadWindow } from './reads.ts'

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

const tagColumns = `t.id, t.type, t.name, t.category, t.value, t.source, t.start_at, t.end_at,
  t.start_offset_minutes, t.end_offset_minutes, t.additional_properties`

const storeTagsSql = `
with input as (
  select * from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::timestamptz[],
    $10::timestamptz[], $11::int2[], $12::int2[], $13::jsonb[]) with ordinality
    as i(id, type, name, category, value, source, start_at, end_at, start_offset_minutes, end_offset_minutes,
         additional_properties, place)
), written as (
  insert into service.tags as t (profile_id, received_at, id, type, name, category, value, source, start_at, end_at,
    start_offset_minutes, end_offset_minutes, additional_properties)
  select $1::uuid, $2::timestamptz, id, type, name, category, value, source, start_at, end_at,
    start_offset_minutes, end_offset_minutes, additional_properties from input order by place
  on conflict (profile_id, type, name, source, start_at) do update set received_at = excluded.received_at,
    category = excluded.category, value = excluded.value, end_at = excluded.end_at,
    start_offset_minutes = excluded.start_offset_minutes, end_offset_minutes = excluded.end_offset_minutes,
    additional_properties = excluded.additional_properties
  returning ${tagColumns}
)
select ${tagColumns} from input i join written t using (type, name, source, start_at) order by i.place`

/** Stores tags and answers them as stored, in the order sent; undefined when the profile is gone. */
export async function storeTags(
  pool: pg.Pool,
  upload: { profileId: string; tags: readonly TagInput[]; now: Date },
): Promise<TagAnswer[] | undefined> {
  const tags = lastOfEach(upload.tags)
  const column = (read: (tag: TagInput) => unknown) => tags.map((tag) => read(tag) ?? null)
  const instant = (text: string | null | undefined) => (text ? instantOf(text) : undefined)
  const iso = (text: string | null | undefined) => {
    const found = instant(text)
    return found && new Date(found.epochMs).toISOString()
  }
  return withTransaction(pool, async (tx) => {
    const locked = await tx.query('select from service.profiles where profile_id = $1 for no key update', [
      upload.profileId,
    ])
    if (locked.rowCount === 0) return undefined
    const { rows } = await tx.query<TagRow>({
      name: 'store-tags',
      text: storeTagsSql,
      values: [
        upload.profileId,
        upload.now,
        column((tag) => tag.id ?? namedUuid(tagNamespace, [upload.profileId, ...identityOf(tag)])),
        column((tag) => tag.type),
        column((tag) => tag.name),
        column((tag) => tag.category),
        column((tag) => tag.value),
        column((tag) => tag.source),
        column((tag) => iso(tag.startDateTime)),
        column((tag) => iso(tag.endDateTime)),
        column((tag) => instant(tag.startDateTime)?.offsetMinutes),
        column((tag) => instant(tag.endDateTime)?.offsetMinutes),
        column((tag) => tag.additionalProperties && JSON.stringify(tag.additionalProperties)),
      ],
    })
    return rows.map(tagAnswer)
  })
}

export type TagFilter = ReadWindow & {
  types?: readonly string[] | undefined
  categories?: readonly string[] | undefined
}

/** A profile's tags whose time touches the window, newest first. A state that is still open has no end. */
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
    values: [profileId, filter.from ?? null, filter.to ?? null, filter.types ?? null, filter.categories ?? null],
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

function lastOfEach(tags: readonly TagInput[]): TagInput[] {
  return [...new Map(tags.map((tag) => [JSON.stringify(identityOf(tag)), tag])).values()]
}

function identityOf(tag: TagInput): string[] {
  return [tag.type, tag.name, tag.source, String(instantOf(tag.startDateTime).epochMs)]
}

function instantOf(text: string): Instant {
  const instant = parseInstant(text)
  if (!instant) throw new RangeError('store tag: its date-time was not checked before')
  return instant
}
