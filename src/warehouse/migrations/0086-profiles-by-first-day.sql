create index concurrently if not exists profiles_by_first_day on vitalsync.profiles (wanted_from)
