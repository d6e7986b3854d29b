#!/usr/bin/env bash
# All that helps to understand a failure, into a folder: objects, events, and the logs of every pod. Called by test.sh.
. "$(dirname "$0")/common.sh"
out=${1:-kind-logs}
rm -rf "$out" && mkdir -p "$out"
say "logs into $out/"
kubectl get scaledjobs,jobs,cronjobs,pods,pvc --all-namespaces -o wide >"$out/objects.txt" 2>&1 || true
kubectl get events --all-namespaces --sort-by=.lastTimestamp >"$out/events.txt" 2>&1 || true
kubectl describe scaledjobs --all-namespaces >"$out/scaledjobs.txt" 2>&1 || true
kubectl describe nodes >"$out/nodes.txt" 2>&1 || true
kubectl get pods --all-namespaces --no-headers -o custom-columns=:metadata.namespace,:metadata.name |
    while read -r namespace pod; do
        [[ $namespace == kube-* || $namespace == local-path-storage ]] && continue
        kubectl logs --namespace "$namespace" "$pod" --all-containers --timestamps --tail 2000 >"$out/$namespace.$pod.log" 2>&1 </dev/null || true
    done
