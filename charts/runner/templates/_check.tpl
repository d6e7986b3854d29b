{{/* Settings that contradict each other, each with one sentence of advice. Called once, by scaledjobs.yaml. */}}

{{- define "runner.check" -}}
{{- if not (or (.Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledJob") (.Capabilities.APIVersions.Has "keda.sh/v1alpha1")) -}}
{{- fail "KEDA is not in this cluster (no keda.sh/v1alpha1/ScaledJob): install KEDA 2.19 or later first; to render without a cluster add --api-versions keda.sh/v1alpha1/ScaledJob" -}}
{{- end -}}
{{- include "runner.check.redis" . -}}
{{- include "runner.check.controller" . -}}
{{- range $name, $_ := .Values.queues -}}
{{- include "runner.check.name" $name -}}
{{- $queue := include "runner.queue" (dict "root" $ "name" $name) | fromJson -}}
{{- $with := dict "at" (printf "queues.%s" $name) "queue" $queue -}}
{{- include "runner.check.mode" $with -}}
{{- include "runner.check.priorities" $with -}}
{{- include "runner.check.times" $with -}}
{{- include "runner.check.pod" $with -}}
{{- include "runner.check.escalate" (dict "at" $with.at "name" $name "queue" $queue "queues" $.Values.queues) -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.escalate" -}}
{{- $to := .queue.escalate.outOfMemoryTo -}}
{{- if and $to (or (eq $to .name) (not (hasKey .queues $to))) -}}
{{- fail (printf "%s.escalate.outOfMemoryTo %q is no other queue of this release: add it to queues, with more memory" .at $to) -}}
{{- end -}}
{{- if and $to (lt (int .queue.maxOoms) 2) -}}
{{- fail (printf "%s.escalate.outOfMemoryTo needs maxOoms of at least 2: at 1 the first kill for memory is the last start" .at) -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.redis" -}}
{{- $redis := .Values.redis -}}
{{- if and $redis.internal.enabled $redis.external.url -}}
{{- fail "redis.external.url is set while redis.internal.enabled is true: set redis.internal.enabled to false to use the external one, or leave the URL empty" -}}
{{- end -}}
{{- if $redis.internal.enabled -}}
{{- $limit := get (default dict $redis.internal.resources.limits) "memory" -}}
{{- if not $limit -}}
{{- fail "redis.internal.resources.limits.memory is missing: give Redis a memory limit, maxmemory is derived from it" -}}
{{- end -}}
{{- if gt (mul 4 (include "runner.redis.maxmemory" . | int64)) (mul 3 (include "runner.bytes" $limit | int64)) -}}
{{- fail (printf "redis.internal.maxmemory %s is over three quarters of the memory limit %s: raise the limit, or Redis is killed when it rewrites its log" (toString $redis.internal.maxmemory) (toString $limit)) -}}
{{- end -}}
{{- else -}}
{{- include "runner.check.external" . -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.external" -}}
{{- $external := .Values.redis.external -}}
{{- if not $external.url -}}
{{- fail "no Redis: set redis.external.url, or leave redis.internal.enabled at true" -}}
{{- end -}}
{{- if contains "@" $external.url -}}
{{- fail "redis.external.url holds a login: put user and password into a Secret and name it in redis.external.secret" -}}
{{- end -}}
{{- if not (regexMatch "^rediss?([+](sentinel|cluster))?://[^/?#@ ]+(/[A-Za-z0-9._-]+){0,2}/?$" $external.url) -}}
{{- fail (printf "redis.external.url %q makes no sense: write redis(s)://HOST:PORT/DB, redis(s)+sentinel://HOST,HOST/SERVICE/DB or redis(s)+cluster://HOST,HOST" $external.url) -}}
{{- end -}}
{{- $parts := include "runner.redis.parts" . | fromJson -}}
{{- range $parts.hosts -}}
{{- if not (or (contains "." .) (hasPrefix "[" .)) -}}
{{- fail (printf "redis.external.url: host %q is not fully qualified: KEDA looks it up from its own namespace, write NAME.NAMESPACE.svc.%s" . $.Values.clusterDomain) -}}
{{- end -}}
{{- end -}}
{{- if and (eq $parts.kind "sentinel") (not $parts.service) -}}
{{- fail "redis.external.url names no service: write redis+sentinel://HOST:26379/SERVICE/0" -}}
{{- end -}}
{{- if and (eq $parts.kind "cluster") (ne $parts.db "0") -}}
{{- fail "redis.external.url: a cluster has only database 0, leave the path away" -}}
{{- end -}}
{{- if not (regexMatch "^[0-9]+$" $parts.db) -}}
{{- fail (printf "redis.external.url: database %q is no number" $parts.db) -}}
{{- end -}}
{{- if and $external.secret.keys.ca (not $external.secret.name) -}}
{{- fail "redis.external.secret.keys.ca is set without redis.external.secret.name: name the Secret that holds it" -}}
{{- end -}}
{{- if and $external.secret.keys.ca (not $parts.tls) -}}
{{- fail "redis.external.secret.keys.ca is set, but the URL speaks no TLS: write rediss://" -}}
{{- end -}}
{{- if and $external.secret.roles (not $external.secret.name) -}}
{{- fail "redis.external.secret.roles is set without redis.external.secret.name: name the Secret that holds the logins" -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.controller" -}}
{{- if not (has .Values.controller.mode (list "CronJob" "Deployment")) -}}
{{- fail (printf "controller.mode %q is unknown: use CronJob or Deployment" .Values.controller.mode) -}}
{{- end -}}
{{- if and (eq .Values.controller.mode "CronJob") (gt (float64 .Values.controller.everySeconds) (float64 .Values.controller.forSeconds)) -}}
{{- fail "controller.everySeconds is more than controller.forSeconds: a CronJob pod would make one pass only, lower everySeconds" -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.name" -}}
{{- if not (regexMatch "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$" .) -}}
{{- fail (printf "queues: %q is no name of a queue: use letters, digits, `.`, `_` and `-`, at most 100" .) -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.mode" -}}
{{- if not (has .queue.mode (list "stream" "list")) -}}
{{- fail (printf "%s.mode %q is unknown: use stream or list" .at .queue.mode) -}}
{{- end -}}
{{- if and (eq .queue.mode "list") (hasKey .queue.container "readinessProbe") -}}
{{- fail (printf "%s.container.readinessProbe: a list queue needs the chart's own, KEDA counts Jobs as pending by it; remove yours or use mode: stream" .at) -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.priorities" -}}
{{- $all := .queue.priorities -}}
{{- if or (lt (len $all) 1) (gt (len $all) 5) -}}
{{- fail (printf "%s.priorities: name one to five, highest first" .at) -}}
{{- end -}}
{{- if ne (len $all) (len (uniq $all)) -}}
{{- fail (printf "%s.priorities: %s names one twice: each is a Redis key of its own, remove one" .at (join ", " $all)) -}}
{{- end -}}
{{- $taken := list "queue" "tasks" "bodies" "claims" "held" "delayed" "expiries" "keys" "dead" "buried" "lives" "turn" "pulse" "counts" "done" -}}
{{- range $all -}}
{{- if has . $taken -}}
{{- fail (printf "%s.priorities: %q is one of the queue's other keys, take another word" $.at .) -}}
{{- end -}}
{{- end -}}
{{- if and .queue.defaultPriority (not (has .queue.defaultPriority $all)) -}}
{{- fail (printf "%s.defaultPriority %q is none of %s" .at .queue.defaultPriority (join ", " $all)) -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.times" -}}
{{- if lt (float64 .queue.maxTimeoutSeconds) (float64 .queue.timeoutSeconds) -}}
{{- fail (printf "%s.timeoutSeconds is more than maxTimeoutSeconds %v: raise maxTimeoutSeconds" .at .queue.maxTimeoutSeconds) -}}
{{- end -}}
{{- if and .queue.idleSeconds (lt (float64 .queue.idleSeconds) (addf .queue.leaseSeconds 5)) -}}
{{- fail (printf "%s.idleSeconds %v is less than leaseSeconds + 5: raise it, or leave it at 0" .at .queue.idleSeconds) -}}
{{- end -}}
{{- $least := include "runner.queue.leastDeadline" .queue | int64 -}}
{{- if and .queue.activeDeadlineSeconds (lt (int64 .queue.activeDeadlineSeconds) $least) -}}
{{- fail (printf "%s.activeDeadlineSeconds %v would cut the longest task short: it needs at least %d (maxTimeoutSeconds + idleSeconds + graceSeconds + startAllowanceSeconds), or 0" .at .queue.activeDeadlineSeconds $least) -}}
{{- end -}}
{{- $grace := get .queue.pod "terminationGracePeriodSeconds" -}}
{{- if and $grace (lt (float64 $grace) (addf .queue.graceSeconds 5)) -}}
{{- fail (printf "%s.pod.terminationGracePeriodSeconds %v is less than graceSeconds + 5: the pod would be killed before it hands its task back" .at $grace) -}}
{{- end -}}
{{- end -}}

{{- define "runner.check.pod" -}}
{{- if and .queue.handlers .queue.exec -}}
{{- fail (printf "%s has handlers and exec: a worker is either Python modules or one program, remove one" .at) -}}
{{- end -}}
{{- if hasKey .queue.pod "containers" -}}
{{- fail (printf "%s.pod.containers: a plain sidecar keeps the Job alive after its task: write it as pod.initContainers with restartPolicy: Always" .at) -}}
{{- end -}}
{{- if ne (default "Never" .queue.pod.restartPolicy) "Never" -}}
{{- fail (printf "%s.pod.restartPolicy: a worker takes one task and is never restarted, remove it" .at) -}}
{{- end -}}
{{- range tuple "requests" "limits" -}}
{{- if not (get (default dict (get $.queue.resources .)) "ephemeral-storage") -}}
{{- fail (printf "%s.resources.%s has no ephemeral-storage: give one, a full /tmp must not evict its neighbours" $.at .) -}}
{{- end -}}
{{- end -}}
{{- range $label, $_ := .queue.podLabels -}}
{{- if or (hasPrefix "app.kubernetes.io/" $label) (eq $label "runner/queue") -}}
{{- fail (printf "%s.podLabels.%s is the chart's own label, take another" $.at $label) -}}
{{- end -}}
{{- end -}}
{{- range .queue.env -}}
{{- if hasPrefix "RUNNER_" (toString .name) -}}
{{- fail (printf "%s.env: %s is set by the chart: use the queue's own setting instead" $.at .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
