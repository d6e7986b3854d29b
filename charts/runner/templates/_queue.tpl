{{/* One queue: its settings, its keys, its declaration, its pod. Called by scaledjobs.yaml and queues.yaml. */}}

{{/* The queue's settings over the defaults, as JSON. */}}
{{- define "runner.queue" -}}
{{- include "runner.overlay" (dict "base" .root.Values.queueDefaults "over" (get .root.Values.queues .name)) -}}
{{- end -}}

{{- define "runner.queue.defaultPriority" -}}
{{- $middle := index .priorities (div (len .priorities) 2 | int) -}}
{{- default (has "normal" .priorities | ternary "normal" $middle) .defaultPriority -}}
{{- end -}}

{{/* The Redis key of one priority, as runner/keys.py has it (a test compares). */}}
{{- define "runner.queue.key" -}}
{{- $main := empty .root.Values.prefix | ternary .name (printf "%s:%s" .root.Values.prefix .name) -}}
{{- eq .priority (include "runner.queue.defaultPriority" .queue) | ternary $main (printf "{%s}:%s" $main .priority) -}}
{{- end -}}

{{- define "runner.queue.idle" -}}
{{- if .idleSeconds }}{{ .idleSeconds }}{{ else }}{{ addf .leaseSeconds 5 }}{{ end -}}
{{- end -}}

{{/* The least deadline of a Job that can finish the longest task. */}}
{{- define "runner.queue.leastDeadline" -}}
{{- $idle := include "runner.queue.idle" . | float64 -}}
{{- addf .maxTimeoutSeconds $idle .graceSeconds .startAllowanceSeconds | ceil | int64 -}}
{{- end -}}

{{/* The declaration, as JSON; the fields have the names of runner/queue.py (a test compares). */}}
{{- define "runner.queue.declaration" -}}
{{- $out := dict -}}
{{- range $field, $value := dict
  "mode" .mode "priorities" .priorities "default_priority" .defaultPriority "default_type" .defaultType "lease_s" .leaseSeconds
  "timeout_s" .timeoutSeconds "max_timeout_s" .maxTimeoutSeconds "max_retries" .maxRetries "max_timeouts" .maxTimeouts
  "max_crashes" .maxCrashes "max_ooms" .maxOoms "oom_to" .escalate.outOfMemoryTo "max_releases" .maxReleases "backoff_s" .backoffSeconds "max_backoff_s" .maxBackoffSeconds
  "unknown_type_grace_s" .unknownTypeGraceSeconds "max_length" .maxLength "max_body_bytes" .maxBodyBytes "keep_done_s" .keepDoneSeconds
  "history_bytes" .historyBytes
  "dead_max" .deadMax "dead_max_age_s" .deadMaxAgeSeconds "replay" .replay "replay_after_s" .replayAfterSeconds "replay_max" .replayMax
  "replay_per_pass" .replayPerPass -}}
{{- $_ := set $out $field $value -}}
{{- end -}}
{{- $out | toJson -}}
{{- end -}}

{{- define "runner.queue.image" -}}
{{- $image := deepCopy .root.Values.image.worker -}}
{{- if .queue.image.repository -}}
{{- $_ := set $image "tag" "" -}}
{{- $_ := set $image "digest" "" -}}
{{- end -}}
{{- range $key, $value := .queue.image -}}
{{- if $value -}}
{{- $_ := set $image $key $value -}}
{{- end -}}
{{- end -}}
{{- $image | toJson -}}
{{- end -}}

{{/* The worker's container before the user's own fields. */}}
{{- define "runner.queue.container" -}}
{{- $image := include "runner.queue.image" . | fromJson -}}
name: worker
image: {{ include "runner.image" (dict "root" .root "image" $image) }}
imagePullPolicy: {{ $image.pullPolicy }}
env:
  {{- include "runner.redis.env" (dict "root" .root "role" "worker") | nindent 2 }}
  - {name: RUNNER_QUEUE, value: {{ .name | quote }}}
  {{- with .queue.handlers }}
  - {name: RUNNER_HANDLERS, value: {{ join "," . | quote }}}
  {{- end }}
  {{- with .queue.exec }}
  - {name: RUNNER_EXEC, value: {{ . | quote }}}
  {{- end }}
  - {name: RUNNER_IDLE_S, value: {{ .queue.idleSeconds | quote }}}
  - {name: RUNNER_GRACE_S, value: {{ .queue.graceSeconds | quote }}}
  - {name: RUNNER_SETTLE_S, value: {{ .queue.settleSeconds | quote }}}
  - {name: RUNNER_START_S, value: {{ .queue.startSeconds | quote }}}
  - {name: RUNNER_LOG_LEVEL, value: {{ .queue.logLevel }}}
  - {name: RUNNER_READY_FILE, value: /tmp/runner-ready}
  - {name: RUNNER_POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: RUNNER_POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
  - {name: RUNNER_NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
  {{- with .queue.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .queue.envFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if eq .queue.mode "list" }}
# From the claim to the end of the process: until then the pod is pending to KEDA, which takes its task for a waiting one.
readinessProbe:
  exec: {command: [test, -f, /tmp/runner-ready]}
  periodSeconds: 1
  failureThreshold: 1
{{- end }}
resources: {{- toYaml .queue.resources | nindent 2 }}
securityContext: {{- include "runner.container.security" . | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  {{- include "runner.redis.mounts" .root | nindent 2 }}
  {{- with .queue.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The pod's spec before the user's own fields. */}}
{{- define "runner.queue.podSpec" -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
# From SIGTERM: the handler's grace, then time to hand the task back.
terminationGracePeriodSeconds: {{ addf .queue.graceSeconds 20 | ceil | int64 }}
securityContext: {{- include "runner.pod.security" . | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A lost node's pod is given up after 30 s, unless the user said otherwise about these taints. */}}
{{- define "runner.queue.tolerations" -}}
{{- $all := default list .queue.pod.tolerations -}}
{{- range $key := list "node.kubernetes.io/not-ready" "node.kubernetes.io/unreachable" -}}
{{- $said := false -}}
{{- range $all -}}{{- if eq (default "" .key) $key -}}{{- $said = true -}}{{- end -}}{{- end -}}
{{- if not $said -}}
{{- $all = append $all (dict "key" $key "operator" "Exists" "effect" "NoExecute" "tolerationSeconds" 30) -}}
{{- end -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}

{{- define "runner.queue.volumes" -}}
- {name: tmp, emptyDir: {sizeLimit: {{ .queue.tmpSize }}}}
{{- include "runner.redis.volumes" .root }}
{{- with .queue.pod.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The whole pod's spec. */}}
{{- define "runner.queue.pod" -}}
{{- $pod := include "runner.overlay" (dict "base" (include "runner.queue.podSpec" . | fromYaml) "over" .queue.pod) | fromJson -}}
{{- $container := include "runner.overlay" (dict "base" (include "runner.queue.container" . | fromYaml) "over" .queue.container) | fromJson -}}
{{- $_ := set $pod "containers" (list $container) -}}
{{- $_ := set $pod "volumes" (include "runner.queue.volumes" . | fromYamlArray) -}}
{{- $_ := set $pod "tolerations" (include "runner.queue.tolerations" . | fromJsonArray) -}}
{{- toYaml $pod -}}
{{- end -}}
