{{/*
The Deployment, the PodDisruptionBudget and the autoscaler of the gateways, or of a service:

root, name    the chart's root; the name of the process, which is also that of its values
port, number  the name and the number of its port
secrets       the names of its secrets, by their directory below /run/strata
env           a list of environment variables
settings      ConfigMaps of which it has all variables
checked       values of ConfigMaps: pods are replaced when these change
preStop       seconds between the end of a pod's readiness and SIGTERM
grace         seconds for the end of a pod: preStop, STRATA_SHUTDOWN_TIMEOUT, and 10 s in which the rest is cancelled
minReady      seconds between the readiness of a new pod and the end of an old one
content       true if it mounts the volume of rich content
cpu, memory   the percentages of the requests at which the autoscaler adds pods
scaleDown     the autoscaler's behaviour when it removes pods
*/}}
{{- define "strata.process" -}}
{{- $values := index .root.Values .name }}
{{- if gt (int $values.replicas.min) (int $values.replicas.max) }}
{{- fail (printf "%s.replicas.min must not be greater than %s.replicas.max" .name .name) }}
{{- end }}
{{- $isScaled := ne (int $values.replicas.min) (int $values.replicas.max) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  labels:
    {{- include "strata.labels" . | nindent 4 }}
spec:
  {{- if not $isScaled }}
  replicas: {{ $values.replicas.min }}
  {{- end }}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
  {{- with .minReady }}
  minReadySeconds: {{ . }}
  {{- end }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      {{- include "strata.replaced" . | nindent 6 }}
    spec:
      {{- include "strata.pod" . | nindent 6 }}
      terminationGracePeriodSeconds: {{ .grace }}
      topologySpreadConstraints:
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: {{ $.name }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
      containers:
        - {{- include "strata.container" . | nindent 10 }}
          command: [{{ .name }}]
          ports:
            - name: {{ .port }}
              containerPort: {{ .number }}
            - name: admin
              containerPort: 7401
          {{- include "strata.server" . | nindent 10 }}
          lifecycle:
            preStop:
              sleep:
                seconds: {{ .preStop }}
          volumeMounts:
            {{- include "strata.mounts" . | trim | nindent 12 }}
            {{- if .content }}
            - name: content
              mountPath: /var/lib/strata/content
            {{- end }}
      volumes:
        {{- include "strata.volumes" . | trim | nindent 8 }}
        {{- if .content }}
        - name: content
          persistentVolumeClaim:
            claimName: {{ .root.Values.content.existingClaim | default "content" | quote }}
        {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  labels:
    {{- include "strata.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  # While a dependency is away no pod is ready; nodes can be emptied nevertheless.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ .name }}
{{- if $isScaled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ .name }}
  labels:
    {{- include "strata.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ .name }}
  minReplicas: {{ $values.replicas.min }}
  maxReplicas: {{ $values.replicas.max }}
  metrics:
    {{- range $resource := list "cpu" "memory" }}
    {{- with index $ $resource }}
    - type: Resource
      resource:
        name: {{ $resource }}
        target:
          type: Utilization
          averageUtilization: {{ . }}
    {{- end }}
    {{- end }}
  behavior:
    scaleDown:
      {{- toYaml .scaleDown | nindent 6 }}
{{- end }}
{{- end }}
