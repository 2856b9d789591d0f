-- Whose word counts first where two sources of this account's people tell of the same time: source names or kinds of
-- device, best first. Empty leaves it to the model's own order.
alter table service.accounts add column source_priority text[] not null default '{}';

-- The order that a profile's days were derived by: where it is not the account's, all its days are due.
alter table service.derivations add column source_priority text[] not null default '{}';

-- marked_at is kept when a mark is renewed: it says since when the day has been waiting, which is what work is ordered
-- by. So a renewal changes nothing that is indexed.
drop index service.dirty_days_mark;
create index dirty_days_waiting on service.dirty_days (marked_at, profile_id);
