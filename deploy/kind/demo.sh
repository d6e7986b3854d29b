#!/usr/bin/env bash
# The demo's photographs as Jobs in a kind cluster; the thumbnails come back into demo-out/. Called by `make kind-demo`; makes the
# cluster unless `make kind-up` did, and leaves it.
. "$(dirname "$0")/common.sh"
version=$(sed -n 's/^appVersion: "\(.*\)"/\1/p' charts/runner/Chart.yaml)
kube=(kubectl --namespace demo)

kind get clusters 2>/dev/null | grep -qx "$CLUSTER" || bash deploy/kind/up.sh
say "the demo's image"
tar --create demo requirements/demo.lock --directory deploy/kind/demo Dockerfile |
    docker build --quiet --tag runner-photos:demo --build-arg PYTHON_IMAGE="$PYTHON_IMAGE" --build-arg WORKER_IMAGE="runner-worker:$version" - >/dev/null
load runner-photos:demo

say "helm install"
kubectl delete namespace demo --ignore-not-found >/dev/null
kubectl create namespace demo >/dev/null
"${kube[@]}" apply -f deploy/kind/demo/pictures.yaml >/dev/null
helm install photos charts/runner --namespace demo --values deploy/kind/demo/values.yaml --timeout 6m \
    --set-string "redis.internal.image.repository=${REDIS_IMAGE%:*},redis.internal.image.tag=${REDIS_IMAGE##*:}" >/dev/null
"${kube[@]}" wait --for=condition=Ready --timeout=120s pod/pictures >/dev/null

# The controller's user: it may look at everything and also submit.
"${kube[@]}" port-forward statefulset/photos-runner-redis :6379 >"$(dirname "$KUBECONFIG")/forward.txt" 2>&1 &
trap 'kill $!' EXIT
for _ in $(seq 100); do grep -q Forwarding "$(dirname "$KUBECONFIG")/forward.txt" && break; sleep 0.1; done
port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$(dirname "$KUBECONFIG")/forward.txt" | head -1)
password=$("${kube[@]}" get secret photos-runner-redis-logins --output jsonpath='{.data.controller-password}' | base64 -d)

say "submitting"
RUNNER_REDIS_URL="redis://127.0.0.1:$port/0" RUNNER_REDIS_USERNAME=controller RUNNER_REDIS_PASSWORD="$password" \
    .venv/bin/python -m demo.kind --namespace demo --out demo-out
say "the cluster stays: export KUBECONFIG=$KUBECONFIG; kubectl --namespace demo get scaledjobs,jobs,pods; make kind-down deletes it"
