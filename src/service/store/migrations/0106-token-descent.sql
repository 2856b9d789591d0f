-- key_id: the key that a refresh token descends from, by the account token or the app that asked for it. family_ends_at: no
-- token of the family is valid after it, however often it is refreshed. lifetime_seconds: of the profile tokens of the
-- family, so that a short-lived token does not refresh into a longer one. Null in rows from before: the defaults count.
alter table service.refresh_tokens add column key_id text collate "C" references service.api_keys on delete cascade;
alter table service.refresh_tokens add column family_ends_at timestamptz;
alter table service.refresh_tokens add column lifetime_seconds integer;
create index refresh_tokens_key on service.refresh_tokens (key_id) where key_id is not null;
