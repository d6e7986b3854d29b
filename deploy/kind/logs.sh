#!/usr/bin/env bash
# All that helps to understand a failure, into a folder: objects, events, and the log of every container that is still there. Called by test.sh.
. "$(dirname "$0")/common.sh"
out=${1:-kind-logs}
rm -rf "$out" && mkdir -p "$out"
say "logs into $out/"
kubectl get scaledjobs,jobs,cronjobs,pods,pvc --all-namespaces -o wide >"$out/objects.txt" 2>&1 || true
kubectl get events --all-namespaces --sort-by=.lastTimestamp >"$out/events.txt" 2>&1 || true
kubectl describe scaledjobs --all-namespaces >"$out/scaledjobs.txt" 2>&1 || true
kubectl describe nodes >"$out/nodes.txt" 2>&1 || true
for node in $(kind get nodes --name "$CLUSTER"); do
    docker exec "$node" tar --create --exclude 'kube-*' --directory /var/log pods 2>/dev/null | tar --extract --directory "$out" 2>/dev/null || true
done
