-- A registration that was sent may take effect after its worker has died: whoever erases must know of it.

alter table vitalsync.profiles add column registering_until timestamptz;
comment on column vitalsync.profiles.registering_until is 'Until when a registration that was sent upstream, and of which nothing was heard since, may still take effect.';
