create index concurrently if not exists biomarkers_to_fill on vitalsync.biomarkers (profile_id) where counts_for is null and local_date is not null
