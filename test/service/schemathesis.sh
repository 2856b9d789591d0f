#!/usr/bin/env bash
# Fuzzes a fresh sandbox from its own OpenAPI document: fails on any 5xx and on any answer that the document does not
# declare. Needs Python 3.10 or newer and PyPI; leaves nothing behind.
#   test/service/schemathesis.sh [examples per operation, 40] [seed, 20261120]
set -euo pipefail
cd "$(dirname "$0")/../.."
version=4.32.5
examples=${1:-40}
seed=${2:-20261120}

work=$(mktemp -d)
target_pid=
finish() {
  local code=$?
  exec 7>&- # the target ends when its input does
  [ -z "$target_pid" ] || wait "$target_pid" 2>/dev/null || true
  [ "$code" -eq 0 ] || { echo 'schemathesis: the last lines of the sandbox:' >&2; tail -n 40 "$work/log" >&2 || true; }
  rm -rf "$work"
}
trap finish EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"

mkfifo "$work/input"
node_modules/.bin/node test/service/fuzz-target.ts <"$work/input" >"$work/ready" 2>"$work/log" &
target_pid=$!
exec 7>"$work/input"
for _ in $(seq 600); do
  [ -s "$work/ready" ] && break
  kill -0 "$target_pid" 2>/dev/null || { echo 'schemathesis: the sandbox did not start' >&2; exit 1; }
  sleep 0.1
done
# Schemathesis closes with "=== 1 warning in 20.56s ===", which is how pytest closes when it ran no test: a reader of the
# log of .ci/run, which has vitest's counts at its end, would take it for that.
without_closing_line() { sed -E '/^=+ .* in [0-9.]+s =+$/d'; }
read_field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/ready" "$1"; }

cat >"$work/schemathesis.toml" <<TOML
seed = $seed
[auth.openapi.account]
api_key = "$(read_field account)"
[auth.openapi.profile]
api_key = "$(read_field profile)"
[auth.openapi.appId]
api_key = "$(read_field appId)"
[auth.openapi.appSecret]
api_key = "$(read_field appSecret)"
[[operations]]
include-path-regex = "externalId"
parameters = { "path.externalId" = "$(read_field externalId)" }
TOML

"$work/venv/bin/st" --config-file "$work/schemathesis.toml" run "$(read_field url)/openapi.json" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth,unsupported_method \
  --max-examples "$examples" --workers 2 --request-timeout 10 --continue-on-failure | without_closing_line
