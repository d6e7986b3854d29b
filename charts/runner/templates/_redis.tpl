{{/* Where Redis is and who logs in how: for pods (environment, files) and for KEDA (trigger metadata). Called by every template with a pod or trigger. */}}

{{/* The parts of the URL, as JSON: kind (single, sentinel, cluster), tls, hosts (a list), service, db. */}}
{{- define "runner.redis.parts" -}}
{{- if .Values.redis.internal.enabled -}}
{{- $host := printf "%s.%s.svc.%s:6379" (include "runner.redis.service" .) .Release.Namespace .Values.clusterDomain -}}
{{- dict "kind" "single" "tls" false "hosts" (list $host) "service" "" "db" "0" | toJson -}}
{{- else -}}
{{- $scheme := splitList "://" .Values.redis.external.url | first -}}
{{- $place := splitList "://" .Values.redis.external.url | last | trimSuffix "/" -}}
{{- $kind := contains "+" $scheme | ternary (splitList "+" $scheme | last) "single" -}}
{{- $path := splitList "/" $place | rest -}}
{{- $port := eq $kind "sentinel" | ternary "26379" "6379" -}}
{{- $hosts := list -}}
{{- range splitList "," (splitList "/" $place | first) -}}
{{- $hosts = append $hosts (regexMatch ":[0-9]+$" . | ternary . (printf "%s:%s" . $port)) -}}
{{- end -}}
{{- $service := eq $kind "sentinel" | ternary (first (append $path "")) "" -}}
{{- $db := first (append (eq $kind "sentinel" | ternary (rest (append $path "")) $path) "0") -}}
{{- dict "kind" $kind "tls" (hasPrefix "rediss" $scheme) "hosts" $hosts "service" $service "db" (default "0" $db) | toJson -}}
{{- end -}}
{{- end -}}

{{- define "runner.redis.service" -}}
{{- include "runner.shortname" (dict "root" . "part" "redis") -}}
{{- end -}}

{{/* The URL that pods get: without a login, with the file of the authority. */}}
{{- define "runner.redis.url" -}}
{{- $parts := include "runner.redis.parts" . | fromJson -}}
{{- $scheme := printf "redis%s%s" ($parts.tls | ternary "s" "") (eq $parts.kind "single" | ternary "" (printf "+%s" $parts.kind)) -}}
{{- $path := list $parts.service (eq $parts.kind "cluster" | ternary "" $parts.db) | compact | join "/" -}}
{{- $ca := and (not .Values.redis.internal.enabled) .Values.redis.external.secret.keys.ca -}}
{{- printf "%s://%s%s%s" $scheme (join "," $parts.hosts) (empty $path | ternary "" (printf "/%s" $path)) (empty $ca | ternary "" "?ssl_ca_certs=/etc/runner/ca/ca.crt") -}}
{{- end -}}

{{/* The Secret with the logins; empty if Redis asks for none. */}}
{{- define "runner.redis.secret" -}}
{{- if .Values.redis.internal.enabled -}}
{{- default (include "runner.name" (dict "root" . "part" "redis-logins")) .Values.redis.internal.existingSecret -}}
{{- else -}}
{{- .Values.redis.external.secret.name -}}
{{- end -}}
{{- end -}}

{{/* A role's login, as JSON: user (a plain name) and the keys of the Secret, empty where there is none. */}}
{{- define "runner.redis.login" -}}
{{- if .root.Values.redis.internal.enabled -}}
{{- dict "user" .role "keys" (dict "username" "" "password" (printf "%s-password" .role) "sentinelUsername" "" "sentinelPassword" "" "ca" "") | toJson -}}
{{- else if .root.Values.redis.external.secret.name -}}
{{- $secret := .root.Values.redis.external.secret -}}
{{- dict "user" "" "keys" (include "runner.overlay" (dict "base" $secret.keys "over" (get $secret.roles .role)) | fromJson) | toJson -}}
{{- else -}}
{{- dict "user" "" "keys" dict | toJson -}}
{{- end -}}
{{- end -}}

{{/* The environment of a pod of this role. */}}
{{- define "runner.redis.env" -}}
{{- $login := include "runner.redis.login" . | fromJson -}}
{{- $secret := include "runner.redis.secret" .root -}}
- name: RUNNER_REDIS_URL
  value: {{ include "runner.redis.url" .root | quote }}
{{- with $login.user }}
- name: RUNNER_REDIS_USERNAME
  value: {{ . }}
{{- end }}
{{- range $key, $variable := dict "username" "USERNAME" "password" "PASSWORD" "sentinelUsername" "SENTINEL_USERNAME" "sentinelPassword" "SENTINEL_PASSWORD" }}
{{- with get $login.keys $key }}
- name: RUNNER_REDIS_{{ $variable }}
  valueFrom: {secretKeyRef: {name: {{ $secret }}, key: {{ . | quote }}}}
{{- end }}
{{- end }}
{{- if .root.Values.prefix }}
- name: RUNNER_PREFIX
  value: {{ .root.Values.prefix | quote }}
{{- end }}
{{- end -}}

{{- define "runner.redis.volumes" -}}
{{- if and (not .Values.redis.internal.enabled) .Values.redis.external.secret.keys.ca }}
- name: redis-ca
  secret:
    secretName: {{ .Values.redis.external.secret.name }}
    items: [{key: {{ .Values.redis.external.secret.keys.ca | quote }}, path: ca.crt}]
{{- end }}
{{- end -}}

{{- define "runner.redis.mounts" -}}
{{- if and (not .Values.redis.internal.enabled) .Values.redis.external.secret.keys.ca }}
- {name: redis-ca, mountPath: /etc/runner/ca, readOnly: true}
{{- end }}
{{- end -}}

{{/* A trigger's metadata about where Redis is; KEDA's parameters have other names per kind. */}}
{{- define "runner.redis.trigger" -}}
{{- $parts := include "runner.redis.parts" . | fromJson -}}
{{ eq $parts.kind "single" | ternary "address" "addresses" }}: {{ join "," $parts.hosts | quote }}
{{- if ne $parts.kind "cluster" }}
databaseIndex: {{ $parts.db | quote }}
{{- end }}
{{- if $parts.service }}
sentinelMaster: {{ $parts.service | quote }}
{{- end }}
{{- if $parts.tls }}
enableTLS: "true"
{{- end }}
{{- with (include "runner.redis.login" (dict "root" . "role" "keda") | fromJson).user }}
username: {{ . }}
{{- end }}
{{- end -}}

{{/* KEDA's name for a trigger of this mode on this kind of Redis. */}}
{{- define "runner.redis.triggerType" -}}
{{- $kind := (include "runner.redis.parts" .root | fromJson).kind -}}
{{- printf "redis%s%s" (eq $kind "single" | ternary "" (printf "-%s" $kind)) (eq .mode "stream" | ternary "-streams" "") -}}
{{- end -}}

{{/* What a TriggerAuthentication takes from the Secret: parameter and key; empty if nothing. */}}
{{- define "runner.redis.authentication" -}}
{{- $login := include "runner.redis.login" (dict "root" . "role" "keda") | fromJson -}}
{{- $secret := include "runner.redis.secret" . -}}
{{- range $parameter := list "username" "password" "sentinelUsername" "sentinelPassword" "ca" }}
{{- with get $login.keys $parameter }}
- {parameter: {{ $parameter }}, name: {{ $secret }}, key: {{ . | quote }}}
{{- end }}
{{- end }}
{{- end -}}
