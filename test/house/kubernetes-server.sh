#!/usr/bin/env bash
# Applies config/kubernetes to a real API server of Kubernetes with its own controllers, which it builds from their Go modules: strict fields,
# the strictest rules for pods, nothing left to change, a new version, delete. There are no nodes: the server accepts the pods, and none starts. The
# first build takes half an hour on two cores. Needs Go and its module proxy, and says so where they are not to be had; leaves nothing behind
# but Go's caches.
#   test/house/kubernetes-server.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
version=37.2
modules=(k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kubectl} go.etcd.io/etcd/server/v3)

work=$(mktemp -d)
servers=()
close() {
  if [ ${#servers[@]} -gt 0 ]; then kill -KILL "${servers[@]}" 2>/dev/null && wait "${servers[@]}" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap close EXIT
fail() {
  echo "kubernetes-server: $*" >&2
  exit 1
}

command -v go >/dev/null && source=$(cd "$work" && go mod download -json "k8s.io/kubernetes@v1.$version" 2>"$work/go.log") || {
  echo "kubernetes-server: left out, because k8s.io/kubernetes v1.$version cannot be had here (Go or its module proxy is missing)"
  exit 0
}

# The modules that Kubernetes keeps beside itself have the version 0.0.0 in its go.mod; they are released as v0 with the same numbers.
mkdir "$work/build" "$work/bin"
{
  printf 'module server\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.%s\n\nreplace (\n' "$version"
  sed -n "s/^\t\(k8s.io\/[a-z-]*\) v0.0.0$/\t\1 => \1 v0.$version/p" "$(node -p 'JSON.parse(process.argv[1]).GoMod' "$source")"
  echo ')'
} >"$work/build/go.mod"
# Without optimization and debug information the build is shorter. The programs compare the versions that they carry.
(cd "$work/build" && go build -mod=mod -buildvcs=false -o "$work/bin/" -gcflags='all=-N -l -dwarf=false' -ldflags="-s -w
  -X k8s.io/component-base/version.gitVersion=v1.$version -X k8s.io/component-base/version.gitMajor=1
  -X k8s.io/component-base/version.gitMinor=${version%.*}" "${modules[@]}") 2>"$work/go.log" || fail "not built: $(tail -n 20 "$work/go.log")"

read -r etcd peers api < <(node -e "
  const servers = [0, 0, 0].map(() => net.createServer().listen(0, '127.0.0.1', () => {
    if (servers.some((it) => !it.address())) return
    console.log(servers.map((it) => it.address().port).join(' '))
    servers.forEach((it) => it.close())
  }))")
node -e "console.log(crypto.generateKeyPairSync('rsa', {
  modulusLength: 2048, privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' } }).privateKey)" >"$work/accounts.pem"
token=$(node -p 'crypto.randomUUID()')
echo "$token,admin,admin,system:masters" >"$work/tokens.csv"

start() {
  local name=$1
  shift
  "$work/bin/$name" "$@" >"$work/$name.log" 2>&1 &
  servers+=($!)
}
kubectl() { HOME=$work "$work/bin/kubectl" --kubeconfig "$work/kubeconfig" "$@"; }
# Waits until the command succeeds, for two minutes at most.
until_true() {
  local end=$((SECONDS + 120))
  until "$@" >"$work/until.log" 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "not so after two minutes: $*: $(cat "$work/until.log"); $(tail -n 5 "$work"/*.log)"
    for server in "${servers[@]}"; do kill -0 "$server" 2>/dev/null || fail "a server ended: $(tail -n 5 "$work"/*.log)"; done
    sleep 0.5
  done
}

start server --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
  --listen-peer-urls "http://127.0.0.1:$peers" --initial-advertise-peer-urls "http://127.0.0.1:$peers" --initial-cluster "default=http://127.0.0.1:$peers"
start kube-apiserver --etcd-servers "http://127.0.0.1:$etcd" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --endpoint-reconciler-type none --secure-port "$api" --cert-dir "$work/certificates" \
  --token-auth-file "$work/tokens.csv" --authorization-mode RBAC --service-cluster-ip-range 10.0.0.0/24 \
  --service-account-issuer https://kubernetes.default.svc --service-account-signing-key-file "$work/accounts.pem" --service-account-key-file "$work/accounts.pem"
kubectl config set-cluster test --server "https://127.0.0.1:$api" --certificate-authority "$work/certificates/apiserver.crt" >/dev/null
kubectl config set-credentials test --token "$token" >/dev/null
kubectl config set-context test --cluster test --user test --namespace vitalsync >/dev/null
kubectl config use-context test >/dev/null
until_true kubectl get --raw /readyz
start kube-controller-manager --kubeconfig "$work/kubeconfig" --secure-port 0 --leader-elect=false --service-account-private-key-file "$work/accounts.pem" \
  --use-service-account-credentials=false

# As docs/how-to/operating.md says, and the namespace takes only pods that keep the standard "restricted".
kubectl create namespace vitalsync
kubectl label namespace vitalsync pod-security.kubernetes.io/{enforce,warn}=restricted >/dev/null
printf '%s=x\n' DATABASE_URL QUEUE_URL UPSTREAM_CLIENT_ID UPSTREAM_CLIENT_SECRET TOKEN_KEY >"$work/secrets.env"
kubectl create secret generic vitalsync --from-env-file="$work/secrets.env"
apply() { kubectl apply --warnings-as-errors --kustomize "$1"; }
manifests=config/kubernetes
apply "$manifests"

# The controllers make the pods that the manifests ask for, and the server accepts each.
until_true kubectl wait --timeout=1s --for=jsonpath='{.status.replicas}'=2 deployment/vitalsync-scheduler deployment/vitalsync-worker
until_true kubectl wait --timeout=1s --for=jsonpath='{.status.active}'=1 job/vitalsync-migrate
until_true kubectl wait --timeout=1s --for=jsonpath='{.status.expectedPods}'=2 poddisruptionbudget/vitalsync-scheduler poddisruptionbudget/vitalsync-worker
until_true kubectl wait --timeout=1s --for=condition=AbleToScale horizontalpodautoscaler/vitalsync-worker
kubectl get pods

kubectl diff --kustomize "$manifests" || fail 'the server keeps something else than the manifests say'

# A new version, sooner than the Job deletes itself, while the queue is deep: the workers stay as many as the autoscaler made them.
kubectl scale deployment/vitalsync-worker --replicas 5
cp -r "$manifests" "$work/next"
sed -i 's/newTag: .*}/newTag: next }/' "$work/next/kustomization.yaml"
kubectl delete job vitalsync-migrate
apply "$work/next"
workers=$(kubectl get deployment/vitalsync-worker --output jsonpath='{.spec.replicas}')
[ "$workers" = 5 ] || fail "the apply leaves $workers of 5 workers"

# A pass says nothing unless faults are refused: a field that nobody knows, and a pod that is not restricted.
for fault in 's/minReplicas/minimumReplicas/' 's/allowPrivilegeEscalation: false/allowPrivilegeEscalation: true/'; do
  rm -rf "$work/faulty"
  cp -r "$manifests" "$work/faulty"
  sed -i "$fault" "$work/faulty/worker.yaml"
  if apply "$work/faulty" >"$work/faulty.log" 2>&1; then fail "a manifest with a fault ($fault) passes"; fi
  grep -q 'unknown field\|would violate PodSecurity' "$work/faulty.log" || fail "$(cat "$work/faulty.log")"
done

kubectl delete --kustomize "$manifests"
until_true kubectl wait --timeout=1s --for=delete pod --all
echo "kubernetes-server: the manifests were applied to the API server v1.$version, also in a new version, and deleted"
