#!/usr/bin/env bash
# Builds the dbt package against a warehouse that was filled by a real sync, as a role that may only read: fails where a model
# does not run, a test finds a row, or a source is not fresh. Needs Python and PyPI, and says so where they are not to be had; leaves nothing
# behind.
#   test/pipeline/warehouse/dbt.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."

work=$(mktemp -d)
target_pid=
finish() {
  exec 7>&- # the target ends when its input does
  [ -z "$target_pid" ] || wait "$target_pid" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

mkfifo "$work/input"
node_modules/.bin/node test/pipeline/warehouse/dbt-target.ts <"$work/input" >"$work/ready" &
target_pid=$!
exec 7>"$work/input"
if ! python3 -m venv "$work/venv" ||
  ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check dbt-core==1.11.16 dbt-postgres==1.11.0 >"$work/pip.log" 2>&1; then
  echo 'dbt: left out, because dbt-core 1.11.16 cannot be installed here (Python or PyPI is missing)'
  exit 0
fi
for _ in $(seq 1200); do
  [ -s "$work/ready" ] && break
  kill -0 "$target_pid" 2>/dev/null || { echo 'dbt: the warehouse was not filled' >&2; exit 1; }
  sleep 0.1
done
read_field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/ready" "$1"; }

cat >"$work/profiles.yml" <<YAML
vitalsync:
  target: test
  outputs:
    test:
      type: postgres
      host: 127.0.0.1
      port: $(read_field port)
      user: $(read_field role)
      password: $(read_field password)
      dbname: $(read_field database)
      schema: analytics
      threads: 2
YAML
export DBT_PROFILES_DIR=$work DBT_SEND_ANONYMOUS_USAGE_STATS=false DBT_TARGET_PATH=$work/target DBT_LOG_PATH=$work/logs DBT_USE_COLORS=false
"$work/venv/bin/dbt" --quiet source freshness --project-dir dbt
"$work/venv/bin/dbt" build --project-dir dbt | grep -E 'WARN|FAIL|ERROR|Done|Completed|Failure|Got [0-9]'
