create index concurrently if not exists scores_by_day on vitalsync.scores (profile_id, local_date)
