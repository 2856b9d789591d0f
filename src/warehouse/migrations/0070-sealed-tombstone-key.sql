-- The key of the tombstones' hashes is sealed with TOKEN_KEY by the program, which alone has it: see seals/tombstone-key.ts.

comment on table vitalsync.tombstones is 'Keyed hashes of the erased, by which jobs in flight and later imports know not to bring them back.';
comment on table vitalsync.secrets is 'Secrets of the program, sealed with TOKEN_KEY.';
comment on column vitalsync.tokens.sealed is 'AES-256-GCM of the token and its refresh token, bound to account, profile and generation; the key''s id stands in front.';
