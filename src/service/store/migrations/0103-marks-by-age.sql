-- With profile_id in it, Postgres 18 may look a profile's marks up here, by skipping from one marked_at to the next: cheap
-- while it believes that there are few of those, which is when it has not looked for a while.
drop index service.dirty_days_waiting;
create index dirty_days_age on service.dirty_days (marked_at);
