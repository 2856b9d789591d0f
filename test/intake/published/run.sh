#!/usr/bin/env bash
# Imports test files that others published, and compares what arrives in the warehouse with what programs of others read in them.
#   npm run published-imports
# The files come from package registries at test time, at exact versions with their checksums, and stay in a cache outside the
# checkout: they are never part of this repository. A missing registry or tool is reported, and its files are left out.
set -euo pipefail
cd "$(dirname "$0")/../../.."
here=test/intake/published
cache=${PUBLISHED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vitalsync-published}
mkdir -p "$cache"
work=$(mktemp -d)
chmod 755 "$work"
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

if ! python3 -m venv "$work/venv" ||
  ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
    -r "$here/decoders.txt" >"$work/pip.log" 2>&1; then
  echo 'published imports: left out, because the decoders of others cannot be installed here (Python or PyPI is missing)'
  exit 0
fi

# keep NAME SHA256 FILE: into the cache, when it is the file that is meant.
keep() {
  local found
  found=$(sha256sum "$3" | cut -d ' ' -f 1)
  [ "$found" = "$2" ] || { echo "published imports: $1 has another checksum: $found" >&2; exit 1; }
  cp "$3" "$cache/$1"
}
missing() { echo "published imports: $1 left out, because $2 cannot bring it here"; }

# MIT; testdata/fitsdk, which is of Garmin's own kit, is not used.
fit=tormoder-fit-0.15.0.zip
if [ ! -e "$cache/$fit" ]; then
  if (mkdir "$work/go" && cd "$work/go" && GOPATH="$work/go" GOMODCACHE="$work/go/mod" GOFLAGS=-mod=mod \
    timeout 300 go mod download github.com/tormoder/fit@v0.15.0 >/dev/null 2>"$work/go.log"); then
    keep "$fit" 997364066f786ff69bae26bbddbcb2442ec19a1dfbe8429c88cea18c9f65c5d4 \
      "$work/go/mod/cache/download/github.com/tormoder/fit/@v/v0.15.0.zip"
  else missing tormoder/fit go; fi
fi

# MIT.
crate=fitparser-0.11.0.crate
if [ ! -e "$cache/$crate" ]; then
  mkdir -p "$work/cargo/src" && touch "$work/cargo/src/lib.rs"
  printf '[package]\nname = "published"\nversion = "0.0.0"\n[dependencies]\nfitparser = { version = "=0.11.0", default-features = false }\n' \
    >"$work/cargo/Cargo.toml"
  if (cd "$work/cargo" && CARGO_HOME="$work/cargo/home" timeout 300 cargo fetch --quiet 2>"$work/cargo.log"); then
    keep "$crate" 56a834aed7c01a500afb06ebcfde59a4dcfd1de7ce15ae501462934d59655376 \
      "$(find "$work/cargo/home" -name "$crate")"
  else missing fitparser cargo; fi
fi

# Apache-2.0.
jar=fhir-test-cases-1.5.0.jar
if [ ! -e "$cache/$jar" ]; then
  if timeout 300 mvn -q -B -Dmaven.repo.local="$work/m2" dependency:get -Dtransitive=false \
    -Dartifact=org.hl7.fhir.testcases:fhir-test-cases:1.5.0 >"$work/mvn.log" 2>&1; then
    keep "$jar" 4e02d5f746fada490037b90c9abdce1699ed3f326dd7646f03b184d5ef4ebd3a \
      "$(find "$work/m2" -name "$jar")"
  else missing fhir-test-cases mvn; fi
fi

node_modules/.bin/node src/vitalsync.mjs sandbox people --as open-mhealth --days 3 --until 2026-04-05T12:00:00Z \
  --output "$work" >/dev/null
"$work/venv/bin/python" "$here/expected.py" "$cache" "$work" >"$work/expected.ndjson"
node_modules/.bin/node "$here/compare.ts" "$work"
