#!/usr/bin/env bash
# Runs the DuckDB query of docs/how-to/lake.md, as it stands there, on a lake that `vitalsync export` writes from a sandbox's
# people. Needs Python 3.9 or newer and PyPI; leaves nothing behind.
#   test/pipeline/export/duckdb.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."
version=1.4.2

work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "duckdb==$version"

export VITALSYNC_HOME="$work"
node_modules/.bin/node src/vitalsync.mjs up --once --profiles 3 >"$work/up.log" 2>&1 || { cat "$work/up.log" >&2; exit 1; }
node_modules/.bin/node src/vitalsync.mjs export --stream scores --format parquet --partition-by month --output "$work/lake" \
  --json >"$work/summary.json"

cat >"$work/ask.py" <<'PYTHON'
import json, os, re, sys
import duckdb

page = open('docs/how-to/lake.md', encoding='utf-8').read()
(query,) = re.findall(r'## DuckDB\n\n```sql\n(.*?)```', page, re.S)
exported = json.load(open(os.path.join(sys.argv[1], 'summary.json')))['streams'][0]['rows']
os.chdir(sys.argv[1])
rows = duckdb.sql(query).fetchall()
counted = duckdb.sql("select count(*) from read_parquet('lake/scores/*/data.parquet')").fetchone()[0]
months = {row[0] for row in rows}
print(f'{counted} scores of {len(months)} months, by DuckDB {duckdb.__version__}')
if counted == 0 or counted != exported:
    sys.exit(f'exported {exported}, DuckDB reads {counted}')
if len(months) < 2 or sum(row[2] for row in rows) != counted or any(not 0 <= row[3] <= 1 for row in rows):
    sys.exit(f'DuckDB reads something else: {rows[:5]}')
PYTHON
"$work/venv/bin/python" "$work/ask.py" "$work"
