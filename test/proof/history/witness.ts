import type pg from 'pg'
import { spanPairsSql } from '../../../src/pipeline/warehouse/postgres/sql-time.ts'
import type { StoredStream, Witnessed } from './history.ts'
import { comparedStreams, heldRecord } from './records.ts'

/**
 * Triggers of the harness write down what the fleet's transactions do to records, ledger, refusals, orders and tokens, within these
 * transactions. They are not the product's own account of itself, and a rollback takes back what they wrote.
 */
export async function installWitness(client: pg.Client): Promise<void> {
  await client.query(witnessSql)
  for (const { name, table } of comparedStreams)
    await client.query(
      `create trigger witness after insert or update on vitalsync.${table}
       for each row execute function witness.see_record('${name}')`,
    )
}

const witnessSql = `
  create schema witness;
  create table witness.seen (
    n bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(),
    kind text not null, profile_id text not null, data jsonb not null);

  create function witness.see_record() returns trigger language plpgsql as $$
  begin
    insert into witness.seen (kind, profile_id, data) values ('record', new.profile_id, jsonb_build_object(
      'stream', tg_argv[0], 'body', new.body, 'gone', new.gone_at is not null,
      'readAtMs', extract(epoch from new.read_at) * 1000));
    return null;
  end $$;

  create function witness.see_ledger() returns trigger language plpgsql as $$
  begin
    insert into witness.seen (kind, profile_id, data) values ('ledger', new.profile_id,
      jsonb_build_object('stream', new.stream, 'recent', new.recent, 'touched', new.generation > old.generation,
        'grew', not new.covered <@ old.covered));
    return null;
  end $$;
  create trigger witness after update on vitalsync.ledger for each row
    when (new.recent is distinct from old.recent or new.generation > old.generation or not new.covered <@ old.covered)
    execute function witness.see_ledger();

  create function witness.see_refusal() returns trigger language plpgsql as $$
  begin
    insert into witness.seen (kind, profile_id, data) values ('refusal', new.profile_id,
      jsonb_build_object('stream', new.stream, 'reason', new.reason));
    return null;
  end $$;
  create trigger witness after insert or update on vitalsync.refusals
    for each row execute function witness.see_refusal();

  create function witness.see_order() returns trigger language plpgsql as $$
  begin
    insert into witness.seen (kind, profile_id, data) values ('order', coalesce(new.profile_id, old.profile_id),
      jsonb_build_object('run', coalesce(new.run_id, old.run_id)::text, 'ended', tg_op = 'DELETE'));
    return null;
  end $$;
  create trigger witness after insert or delete on vitalsync.orders for each row execute function witness.see_order();

  create function witness.see_token() returns trigger language plpgsql as $$
  declare
    step text := case
      when tg_op = 'DELETE' then 'erase'
      when tg_op = 'INSERT' then case when new.lease_holder is not null then 'lease' end
      when new.generation > old.generation then 'save'
      when new.lease_holder is distinct from old.lease_holder
        then case when new.lease_holder is null then 'release' else 'lease' end
    end;
  begin
    if step is null then return null; end if;
    insert into witness.seen (kind, profile_id, data) values ('token',
      coalesce(coalesce(new.profile_id, old.profile_id)::text, 'account'), jsonb_build_object('step', step,
        'generation', coalesce(new.generation, old.generation),
        'leaseUntilMs', extract(epoch from new.lease_until) * 1000,
        'formerUntilMs', extract(epoch from old.lease_until) * 1000));
    return null;
  end $$;
  create trigger witness after insert or update or delete on vitalsync.tokens
    for each row execute function witness.see_token();
`

type SeenRow = { n: string; at: number; kind: string; profile_id: string; data: Record<string, unknown> }

export async function readWitnessed(client: pg.Client): Promise<Witnessed[]> {
  const { rows } = await client.query<SeenRow>(
    'select n, (extract(epoch from at) * 1000)::float8 as at, kind, profile_id, data from witness.seen order by n',
  )
  return rows.map(({ n, at, kind, profile_id: profileId, data: { body, ...data } }) => {
    const stream = comparedStreams.find(({ name }) => name === data['stream'])
    const record = kind === 'record' && stream ? { record: heldRecord(stream, JSON.parse(String(body))) } : {}
    return { n: Number(n), atMs: at, kind, profileId, ...data, ...record } as Witnessed // as the triggers wrote it
  })
}

/** The covered spans and the stored records of a profile's streams, each stream in one snapshot. */
export async function readStored(client: pg.Client, profileId: string): Promise<StoredStream[]> {
  const stored: StoredStream[] = []
  for (const stream of comparedStreams) {
    const { rows } = await client.query<{ covered: StoredStream['covered'] | null; bodies: string[] }>(
      `select ${spanPairsSql('l.covered')} as covered, array(select r.body from vitalsync.${stream.table} r
         where r.profile_id = l.profile_id and r.gone_at is null) as bodies
       from vitalsync.ledger l where l.profile_id = $1 and l.stream = $2`,
      [profileId, stream.name],
    )
    const [row] = rows
    if (!row) continue
    const records = row.bodies.map((body) => heldRecord(stream, JSON.parse(body)))
    stored.push({ stream: stream.name, covered: row.covered ?? [], records })
  }
  return stored
}

/** The number of rows, by table, that name a person: by our own id, or by the name in any text. */
export async function readRowsOf(
  client: pg.Client,
  { profile, profileId }: { profile: string; profileId: string },
): Promise<Array<{ profile: string; table: string; rows: number }>> {
  const { rows: tables } = await client.query<{ name: string; has_id: boolean }>(
    `select format('%I.%I', t.table_schema, t.table_name) as name, exists (select from information_schema.columns c
       where (c.table_schema, c.table_name, c.column_name) = (t.table_schema, t.table_name, 'profile_id')) as has_id
     from information_schema.tables t
     where t.table_type = 'BASE TABLE' and t.table_schema not in ('pg_catalog', 'information_schema', 'witness')`,
  )
  const found: Array<{ profile: string; table: string; rows: number }> = []
  for (const { name, has_id: hasId } of tables) {
    const byId = hasId ? 'or t.profile_id::text = $2' : 'and $2::text is not null'
    const { rows } = await client.query<{ rows: number }>(
      `select count(*)::int as rows from ${name} t where strpos(t::text, $1) > 0 ${byId}`,
      [profile, profileId],
    )
    if (rows[0] && rows[0].rows > 0) found.push({ profile, table: name, rows: rows[0].rows })
  }
  return found
}
