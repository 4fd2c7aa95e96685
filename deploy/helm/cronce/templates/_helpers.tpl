{{- define "cronce.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "cronce.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "cronce.labels" -}}
{{ include "cronce.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "cronce.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "cronce.registry" -}}
{{- if and .Values.existingRegistryConfigMap .Values.access -}}
{{- fail "put the access file into your ConfigMap under the key access.yaml, and set CRONCE_ACCESS in env; access is for the chart's ConfigMap" -}}
{{- else if .Values.existingRegistryConfigMap -}}
{{- .Values.existingRegistryConfigMap -}}
{{- else if .Values.registry -}}
{{- include "cronce.name" . -}}
{{- else -}}
{{- fail "give the registry with --set-file registry=cronce.yaml, or the name of a ConfigMap that has it in .Values.existingRegistryConfigMap" -}}
{{- end -}}
{{- end -}}
