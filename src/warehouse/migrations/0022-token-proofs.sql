-- One token that upstream takes away at once may be chance; two in a row that nobody ever saw accepted are not.

alter table vitalsync.tokens add column unproven_before integer not null default 0;
comment on column vitalsync.tokens.unproven_before is 'Generations in a row before this one that nobody saw accepted.';
