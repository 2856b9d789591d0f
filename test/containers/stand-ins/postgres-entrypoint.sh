#!/bin/sh
# The part of the entry point of postgres:18-alpine that docker-compose.yml and the tests use.
set -eu
if [ "$(id -u)" = 0 ]; then
  install -d -o postgres -g postgres -m 700 "$PGDATA"
  chown postgres:postgres /var/lib/postgresql
  exec gosu postgres sh "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
  initdb --username=postgres --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 >/dev/null
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl --wait --options="-c listen_addresses=''" start
  for file in /docker-entrypoint-initdb.d/*.sql; do [ ! -e "$file" ] || psql --set ON_ERROR_STOP=1 --file "$file"; done
  pg_ctl --wait --mode=fast stop
fi
exec "$@" -c "listen_addresses=*"
