#!/usr/bin/env bash
# Holds the manifests in config/kubernetes against the schemas of Kubernetes itself, of an old and a new version: fails on any field that it
# does not know or that is of another type. Needs Python and PyPI, which has the schemas, and says so where they are not to be had; leaves
# nothing behind.
#   test/house/kubernetes.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
tool=1.37.0
versions=(1.30 1.37)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! python3 -m venv "$work/venv" ||
  ! "$work/venv/bin/pip" install --quiet --disable-pip-version-check "kubernetes-validate==$tool" >"$work/pip.log" 2>&1; then
  echo "kubernetes: left out, because kubernetes-validate $tool cannot be installed here (Python or PyPI is missing)"
  exit 0
fi
check() { "$work/venv/bin/kubernetes-validate" --strict --kubernetes-version "$@"; }

# kustomization.yaml is for kubectl: no cluster gets it.
manifests=()
for file in config/kubernetes/*.yaml; do [ "${file##*/}" = kustomization.yaml ] || manifests+=("$file"); done
for version in "${versions[@]}"; do
  check "$version" "${manifests[@]}"
  for fault in 's/minReplicas/minimumReplicas/' 's/maxReplicas: 8/maxReplicas: eight/'; do
    sed "$fault" config/kubernetes/worker.yaml >"$work/faulty.yaml"
    if check "$version" --quiet "$work/faulty.yaml" >"$work/faulty.log" 2>&1; then
      echo "kubernetes: a manifest with a fault ($fault) passes, so a pass says nothing" >&2
      exit 1
    fi
  done
done
