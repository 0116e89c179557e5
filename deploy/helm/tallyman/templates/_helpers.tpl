{{- define "tallyman.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "tallyman.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "tallyman.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "tallyman.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of nodes. It never changes: a StatefulSet keeps its selector. */}}
{{- define "tallyman.selector" -}}
app.kubernetes.io/name: {{ include "tallyman.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node
{{- end -}}

{{- define "tallyman.labels" -}}
app.kubernetes.io/name: {{ include "tallyman.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tallyman.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* tallyman.yaml: the values, and what the chart itself knows. */}}
{{- define "tallyman.config" -}}
{{- $own := dict "node" (dict "drain_delay" (printf "%ds" (int .Values.drainDelaySeconds)))
      "rules" (dict "paths" (list "/etc/tallyman-rules")) "types" (dict "path" "types.yaml") -}}
{{- if .Values.tls.secretName -}}
{{- $_ := set $own "http" (dict "tls" (dict "cert" "/etc/tallyman-tls/tls.crt" "key" "/etc/tallyman-tls/tls.key")) -}}
{{- end -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) -}}
{{- end -}}

{{/* Keys of the ConfigMap with the configuration. */}}
{{- define "tallyman.files" -}}
tallyman.yaml: |
  {{- include "tallyman.config" . | nindent 2 }}
types.yaml: |
  {{- .Values.types | default (.Files.Get "files/types.yaml") | nindent 2 }}
{{- end -}}

{{- define "tallyman.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "tallyman.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "tallyman.grace" -}}
{{- $least := add (int .Values.drainDelaySeconds) 30 -}}
{{- $grace := .Values.terminationGracePeriodSeconds | default (add (int .Values.drainDelaySeconds) 45) | int -}}
{{- if lt $grace (int $least) -}}
{{- fail (printf "terminationGracePeriodSeconds is %d: it must be at least drainDelaySeconds and 30 s, which is %d" $grace $least) -}}
{{- end -}}
{{- $grace -}}
{{- end -}}
