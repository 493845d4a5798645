{{- /* What the pods of all roles and of the migration share. Takes root, role and configMap. */ -}}
{{- define "countersign.pod" -}}
{{- $values := .root.Values }}
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
serviceAccountName: {{ .serviceAccount }}
# No role calls the API of Kubernetes.
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with $values.affinity }}
affinity: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ $values.userId | int64 }}
  runAsGroup: {{ $values.userId | int64 }}
  # Lets the process read its secrets, and nobody else.
  fsGroup: {{ $values.userId | int64 }}
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: config
    configMap: {name: {{ .configMap }}}
  - name: publishers
    projected:
      defaultMode: 0440
      sources:
        {{- include "countersign.sources" $values.publishers | nindent 8 }}
  {{- with $values.secrets }}
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
        {{- include "countersign.sources" . | nindent 8 }}
  {{- end }}
  {{- if and $values.ledgerKeys (has .role (list "gateway" "notifier" "console")) }}
  - name: keys
    projected:
      defaultMode: 0440
      sources:
        {{- include "countersign.sources" $values.ledgerKeys | nindent 8 }}
  {{- end }}
  {{- if and $values.console.people (eq .role "console") }}
  - name: people
    projected:
      defaultMode: 0440
      sources:
        {{- include "countersign.sources" $values.console.people | nindent 8 }}
  {{- end }}
{{- end }}

{{- /* The one container of a pod, but for its probes. Takes root, role and resources. */ -}}
{{- define "countersign.container" -}}
{{- $values := .root.Values -}}
name: {{ .role }}
image: {{ include "countersign.image" .root }}
imagePullPolicy: {{ $values.image.pullPolicy }}
args: [{{ .role }}, --config, /etc/countersign/config/countersign.json]
resources: {{ toJson .resources }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
# Folders, not single files: the kubelet never changes a file that is mounted with subPath.
volumeMounts:
  - {name: config, mountPath: /etc/countersign/config, readOnly: true}
  - {name: publishers, mountPath: /etc/countersign/publishers, readOnly: true}
  {{- if $values.secrets }}
  - {name: secrets, mountPath: /etc/countersign/secrets, readOnly: true}
  {{- end }}
  {{- if and $values.ledgerKeys (has .role (list "gateway" "notifier" "console")) }}
  - {name: keys, mountPath: /etc/countersign/keys, readOnly: true}
  {{- end }}
  {{- if and $values.console.people (eq .role "console") }}
  - {name: people, mountPath: /etc/countersign/people, readOnly: true}
  {{- end }}
{{- end }}
