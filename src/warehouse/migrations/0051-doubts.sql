-- A reading that lacks more stored records than one reading may is not believed until a second one agrees.

alter table vitalsync.ledger add column doubts jsonb;
comment on column vitalsync.ledger.doubts is 'Readings that lacked so many stored records that a second reading must agree: [[start, end, sent, [key hashes of the records]], ...] in epoch ms.';
