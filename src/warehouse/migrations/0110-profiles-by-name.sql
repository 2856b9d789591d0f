create index concurrently if not exists profiles_by_name on vitalsync.profiles (external_id)
