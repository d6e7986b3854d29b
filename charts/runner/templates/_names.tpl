{{/* Names and labels. Called by every template. */}}

{{/* A text as a DNS label of at most `max` characters; one that had to change carries a hash of the whole, so that it stays unique. */}}
{{- define "runner.fit" -}}
{{- $clean := regexReplaceAll "[^a-z0-9-]" (lower .text) "-" | trimAll "-" -}}
{{- if and (eq $clean .text) (le (len $clean) (int .max)) -}}
{{- $clean -}}
{{- else -}}
{{- printf "%s-%s" ($clean | trunc (int (sub .max 9)) | trimSuffix "-") (sha256sum .text | trunc 8) -}}
{{- end -}}
{{- end -}}

{{- define "runner.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- default (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) .Values.fullnameOverride -}}
{{- end -}}

{{/* The name of a part of the release: at most 63 characters. */}}
{{- define "runner.name" -}}
{{- include "runner.fit" (dict "text" (printf "%s-%s" (include "runner.fullname" .root) .part) "max" 63) -}}
{{- end -}}

{{/* The name of what makes Jobs or pods of its own, which append to it: at most 52. */}}
{{- define "runner.shortname" -}}
{{- include "runner.fit" (dict "text" (printf "%s-%s" (include "runner.fullname" .root) .part) "max" 52) -}}
{{- end -}}

{{- define "runner.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ include "runner.fit" (dict "text" .root.Release.Name "max" 63) }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Labels of the objects. Those of worker pods have no version: a new chart alone must not change a ScaledJob. */}}
{{- define "runner.labels" -}}
{{ include "runner.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "runner.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) -}}
{{- end -}}
{{- end -}}
