-- The tokens of the account and of the profiles, sealed; and who is renewing which just now.

create table vitalsync.tokens (
  account         text collate "C" not null,
  profile_id      bigint references vitalsync.profiles on delete cascade,
  generation      bigint not null default 0,
  sealed          bytea,
  issued_at       timestamptz,
  expires_at      timestamptz,
  refresh_taken   integer not null default 0,
  proven          boolean not null default false,
  lease_holder    uuid,
  lease_until     timestamptz,
  broken_reason   text,
  broken_until    timestamptz,
  broken_openings integer not null default 0,
  unique nulls not distinct (account, profile_id)
) with (fillfactor = 70);
create index tokens_of_profile on vitalsync.tokens (profile_id);
comment on table  vitalsync.tokens is 'One row per token: the account''s own (no profile_id) and one per profile.';
comment on column vitalsync.tokens.account is 'Digest of upstream''s address and the client id.';
comment on column vitalsync.tokens.generation is 'Grows by one with every token; a refusal speaks of one generation only.';
comment on column vitalsync.tokens.sealed is 'AES-256-GCM of the token and its refresh token, bound to account, profile and generation.';
comment on column vitalsync.tokens.refresh_taken is 'Leases since the token was stored. Only the first may spend the refresh token: spent twice, upstream revokes all.';
comment on column vitalsync.tokens.proven is 'Somebody has seen this generation accepted.';
comment on column vitalsync.tokens.lease_until is 'Until then nobody else may renew; a holder that died loses the lease by time.';
comment on column vitalsync.tokens.broken_until is 'Until then nothing is asked with this token, for broken_reason.';
