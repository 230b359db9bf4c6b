{{/* Helpers of all pods. A process is described by a dictionary with the keys root, name and others; _process.tpl lists them. */}}

{{- define "strata.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: strata
{{- end }}

{{- define "strata.image" -}}
{{- with .root.Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}{{ end }}
{{- end }}

{{/* The beginning of a pod's spec. fsGroup: true if the pod owns the files of its volumes. */}}
{{- define "strata.pod" -}}
automountServiceAccountToken: false
# Settings are environment variables; those that Kubernetes makes for Services would mix with them.
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  {{- if .fsGroup }}
  fsGroup: 10001
  {{- end }}
  {{- if eq .name "gateway" }}
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* The beginning of a container. */}}
{{- define "strata.container" -}}
name: {{ .name }}
image: {{ include "strata.image" . | quote }}
{{- with .root.Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources:
  {{- toYaml (index .root.Values .name).resources | nindent 2 }}
{{- end }}

{{/* Mounts of secrets, by the directory below /run/strata, and of /tmp. */}}
{{- define "strata.mounts" -}}
{{- range $directory, $secret := .secrets }}
- name: {{ $directory }}
  mountPath: /run/strata/{{ $directory }}
  readOnly: true
{{- end }}
- name: tmp
  mountPath: /tmp
{{- end }}

{{- define "strata.volumes" -}}
{{- range $directory, $secret := .secrets }}
- name: {{ $directory }}
  secret:
    secretName: {{ $secret | quote }}
{{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- end }}

{{/* The metadata of a pod with metrics. It is replaced when the values in "checked" change. */}}
{{- define "strata.replaced" -}}
labels:
  {{- include "strata.labels" . | nindent 2 }}
annotations:
  checksum/settings: {{ toJson .checked | sha256sum }}
  prometheus.io/scrape: "true"
  prometheus.io/port: "7401"
  prometheus.io/path: /metrics
{{- end }}

{{/* The environment and the probes of a container with the port "admin". */}}
{{- define "strata.server" -}}
envFrom:
  {{- range .settings }}
  - configMapRef:
      name: {{ . }}
  {{- end }}
env:
  - name: STRATA_INSTANCE
    valueFrom:
      fieldRef:
        fieldPath: metadata.name
  {{- toYaml .env | nindent 2 }}
# The readiness probe asks the dependencies, the others the process alone: a restart does not repair a database.
startupProbe:
  httpGet:
    path: /health/live
    port: admin
  periodSeconds: 1
  failureThreshold: 60
readinessProbe:
  httpGet:
    path: /health/ready
    port: admin
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 2
livenessProbe:
  httpGet:
    path: /health/live
    port: admin
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}
