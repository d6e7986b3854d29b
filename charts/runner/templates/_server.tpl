{{/* What the Redis of the release is configured with. Called by redis.yaml. */}}

{{/* The rules of files/users.acl for this prefix, without the comments that Redis refuses. */}}
{{- define "runner.redis.users" -}}
{{- $keys := empty .Values.prefix | ternary "~*" (printf "~%s:* ~{%s:*" .Values.prefix .Values.prefix) -}}
{{- regexReplaceAll "(?m)^#.*\n" (.Files.Get "files/users.acl") "" | replace "@keys@" $keys | trim -}}
{{- end -}}

{{/* A quantity of memory in bytes. */}}
{{- define "runner.bytes" -}}
{{- $text := toString . -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- if not (hasKey $units $unit) -}}
{{- fail (printf "%q is no amount of memory: write it as 512Mi or 2Gi" $text) -}}
{{- end -}}
{{- mulf (trimSuffix $unit $text | float64) (get $units $unit) | int64 -}}
{{- end -}}

{{/* Redis's own bound, in bytes: as given, or half of the container's. */}}
{{- define "runner.redis.maxmemory" -}}
{{- $redis := .Values.redis.internal -}}
{{- if $redis.maxmemory -}}
{{- include "runner.bytes" $redis.maxmemory -}}
{{- else -}}
{{- div (include "runner.bytes" $redis.resources.limits.memory | int64) 2 -}}
{{- end -}}
{{- end -}}
