-- Accounts, their keys and profiles, and the tokens that were issued. No default and no function here asks for the time, but the
-- one that makes revisions: instants come from the caller, whose clock a sandbox may move.

-- source_priority: which source counts first where two sources of this account's people cover the same time: source names or
-- kinds of device, best first. Empty: the model's own order.
create table service.accounts (
  account_id uuid primary key,
  name text not null unique,
  created_at timestamptz not null,
  source_priority text[] not null default '{}'
);

-- One key is a public id and the hash of a secret: clientId/clientSecret (kind client) or appId/appSecret (kind app).
create table service.api_keys (
  public_id text collate "C" primary key,
  account_id uuid not null references service.accounts on delete cascade,
  kind text not null check (kind in ('client', 'app')),
  secret_hash bytea not null,
  label text not null default '',
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index api_keys_account on service.api_keys (account_id);

-- search_text: the externalId without differences of case and composition by the rules of Unicode, which the collation of the
-- database may not know. The service alone knows the rule: it writes the text, and searches look into it.
create table service.profiles (
  profile_id uuid primary key,
  account_id uuid not null references service.accounts on delete cascade,
  external_id text collate "C" not null,
  search_text text collate "C" not null,
  is_sample boolean not null default false,
  created_at timestamptz not null,
  data_last_received_at timestamptz,
  unique (account_id, external_id)
);
create index profiles_search on service.profiles (account_id, external_id) include (search_text);

-- family: all tokens that descend from one issue, revoked together when a refresh token is spent twice.
create table service.tokens (
  token_hash bytea primary key,
  kind text not null check (kind in ('account', 'profile')),
  account_id uuid not null references service.accounts on delete cascade,
  profile_id uuid references service.profiles on delete cascade,
  key_id text collate "C" references service.api_keys on delete cascade,
  family uuid not null,
  read_only boolean not null default false,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  check ((kind = 'profile') = (profile_id is not null))
);
create index tokens_family on service.tokens (family);
create index tokens_profile on service.tokens (profile_id) where profile_id is not null;
create index tokens_key on service.tokens (key_id) where key_id is not null;
create index tokens_account on service.tokens (account_id);
create index tokens_expiry on service.tokens (expires_at);

-- key_id: the key that a refresh token descends from, by the account token or the app that asked for it. family_ends_at: no
-- token of the family is valid after it, however often it is refreshed. lifetime_seconds: of the profile tokens of the
-- family, so that a short-lived token does not refresh into a longer one.
create table service.refresh_tokens (
  token_hash bytea primary key,
  profile_id uuid not null references service.profiles on delete cascade,
  key_id text collate "C" references service.api_keys on delete cascade,
  family uuid not null,
  family_ends_at timestamptz not null,
  lifetime_seconds integer not null,
  read_only boolean not null default false,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  spent_at timestamptz,
  revoked_at timestamptz
);
create index refresh_tokens_family on service.refresh_tokens (family);
create index refresh_tokens_profile on service.refresh_tokens (profile_id);
create index refresh_tokens_key on service.refresh_tokens (key_id) where key_id is not null;
create index refresh_tokens_expiry on service.refresh_tokens (expires_at);
