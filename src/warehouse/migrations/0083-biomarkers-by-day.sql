create index concurrently if not exists biomarkers_by_day on vitalsync.biomarkers (profile_id, counts_for)
