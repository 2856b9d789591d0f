#!/usr/bin/env bash
# Searches the sources by the rules in config/semgrep: fails on any finding. Needs Python and PyPI, and says so where they are not
# to be had; leaves nothing behind.
#   test/house/semgrep.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
version=1.180.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! python3 -m venv "$work/venv" ||
  ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check "semgrep==$version" >"$work/pip.log" 2>&1; then
  echo "semgrep: left out, because semgrep $version cannot be installed here (Python or PyPI is missing)"
  exit 0
fi
export SEMGREP_SEND_METRICS=off SEMGREP_ENABLE_VERSION_CHECK=0 PATH="$work/venv/bin:$PATH"
semgrep scan --metrics off --config config/semgrep/rules.yml --error --quiet --no-git-ignore --jobs 2 src jobs config
echo 'semgrep: no finding'
