{{/* What every pod of the release has in common: the `restricted` level, no API token, a sized /tmp. Called by every template with a pod. */}}

{{- define "runner.pod.security" -}}
runAsNonRoot: true
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "runner.container.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The environment, mounts and volumes of a controller's container: the first pass, the CronJob and the Deployment differ only around it. */}}
{{- define "runner.controller.container" -}}
name: controller
image: {{ include "runner.image" (dict "root" .root "image" .root.Values.image.controller) }}
imagePullPolicy: {{ .root.Values.image.controller.pullPolicy }}
command: [python, -m, runner.controller]
env:
  {{- include "runner.redis.env" (dict "root" .root "role" "controller") | nindent 2 }}
  - {name: RUNNER_LOG_LEVEL, value: {{ .root.Values.controller.logLevel }}}
  - {name: RUNNER_CONTROL_QUEUES_FILE, value: /etc/runner/queues/queues.json}
  - {name: RUNNER_CONTROL_RELEASE, value: {{ include "runner.fit" (dict "text" .root.Release.Name "max" 63) | quote }}}
  - {name: RUNNER_CONTROL_FOR_S, value: {{ .forSeconds | quote }}}
  - {name: RUNNER_CONTROL_EVERY_S, value: {{ .root.Values.controller.everySeconds | quote }}}
  {{- with .connectSeconds }}
  - {name: RUNNER_CONNECT_S, value: {{ . | quote }}}
  {{- end }}
resources: {{- toYaml .root.Values.controller.resources | nindent 2 }}
securityContext: {{- include "runner.container.security" . | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
  - {name: queues, mountPath: /etc/runner/queues, readOnly: true}
  {{- include "runner.redis.mounts" .root | nindent 2 }}
{{- end -}}

{{- define "runner.controller.podSpec" -}}
serviceAccountName: {{ include "runner.name" (dict "root" .root "part" "controller") }}
automountServiceAccountToken: true
enableServiceLinks: false
securityContext: {{- include "runner.pod.security" . | nindent 2 }}
terminationGracePeriodSeconds: 30
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.controller.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.controller.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.controller.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.controller.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - {{- include "runner.controller.container" . | trim | nindent 4 }}
volumes:
  - {name: tmp, emptyDir: {sizeLimit: 32Mi}}
  - {name: queues, configMap: {name: {{ include "runner.name" (dict "root" .root "part" "queues") }}}}
  {{- include "runner.redis.volumes" .root | nindent 2 }}
{{- end -}}
