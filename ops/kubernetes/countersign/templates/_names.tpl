{{- define "countersign.name" -}}
{{- if contains "countersign" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-countersign" (.Release.Name | trunc 28 | trimSuffix "-") }}
{{- end }}
{{- end }}

{{- define "countersign.selector" -}}
app.kubernetes.io/name: countersign
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "countersign.labels" -}}
{{ include "countersign.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "countersign.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* The configuration file. What the chart decides wins over `config`. */ -}}
{{- define "countersign.configuration" -}}
{{- $own := dict
  "publishers" (dict "folder" "../publishers")
  "gateway" (dict "listen" "0.0.0.0:8080")
  "worker" (dict "listen" "0.0.0.0:9101")
  "notifier" (dict "listen" "0.0.0.0:9102")
  "shutdownGraceSeconds" (.Values.drainSeconds | int)
}}
{{- if .Values.console.enabled }}
{{- $_ := set $own "console" (dict "listen" "0.0.0.0:8090") }}
{{- end }}
{{- mergeOverwrite (deepCopy .Values.config) $own | toPrettyJson }}
{{- end }}

{{- /* The roles of the release, with spaces between them. */ -}}
{{- define "countersign.roles" -}}
gateway worker notifier{{ if .Values.console.enabled }} console{{ end }}
{{- end }}

{{- /* Every element of a list as a source of one folder. */ -}}
{{- define "countersign.sources" -}}
{{- range . }}
{{- if .secret }}
- secret: {name: {{ .secret }}}
{{- else }}
- configMap: {name: {{ .configMap }}}
{{- end }}
{{- end }}
{{- end }}
