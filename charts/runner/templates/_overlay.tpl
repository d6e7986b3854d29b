{{/* Laying one map over another. Called by the queue's templates. */}}

{{/* `over` laid over `base`, as JSON: maps key by key, all else replaced, null takes away. (Sprig's merge functions skip 0, false and "".) */}}
{{- define "runner.overlay" -}}
{{- $out := deepCopy (default dict .base) -}}
{{- range $key, $value := default dict .over -}}
{{- $below := get $out $key -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $out $key -}}
{{- else if and (kindIs "map" $value) (kindIs "map" $below) -}}
{{- $_ := set $out $key (include "runner.overlay" (dict "base" $below "over" $value) | fromJson) -}}
{{- else -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- $out | toJson -}}
{{- end -}}
