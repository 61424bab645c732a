{{/* Data of the ConfigMap that all processes share (deploy/settings.env). */}}
{{- define "heddle.settings" -}}
{{- $data := dict "HEDDLE_LOG_LEVEL" .Values.logLevel -}}
{{- with .Values.apiServer.host -}}
{{- $_ := set $data "KUBERNETES_SERVICE_HOST" . -}}
{{- $_ := set $data "KUBERNETES_SERVICE_PORT" (toString $.Values.apiServer.port) -}}
{{- end -}}
{{- with .Values.clusterSubnets }}{{ $_ := set $data "HEDDLE_CLUSTER_SUBNETS" (join "," .) }}{{ end -}}
{{- with .Values.serviceSubnets }}{{ $_ := set $data "HEDDLE_K8S_SERVICE_CIDRS" (join "," .) }}{{ end -}}
{{- with .Values.gatewayMode }}{{ $_ := set $data "HEDDLE_GATEWAY_MODE" . }}{{ end -}}
{{- with .Values.mtu }}{{ $_ := set $data "HEDDLE_MTU" (. | int | toString) }}{{ end -}}
{{- with .Values.traces.endpoint }}{{ $_ := set $data "HEDDLE_TRACES_ENDPOINT" . }}{{ end -}}
{{- if not (kindIs "invalid" .Values.traces.ratio) }}{{ $_ := set $data "HEDDLE_TRACES_RATIO" (toString .Values.traces.ratio) }}{{ end -}}
{{- range $name, $value := .Values.settings -}}
{{- if kindIs "float64" $value }}{{ if eq $value (floor $value) }}{{ $value = int64 $value }}{{ end }}{{ end -}}
{{- $_ := set $data (printf "HEDDLE_%s" ($name | upper | replace "-" "_")) (toString $value) -}}
{{- end -}}
{{- toYaml $data -}}
{{- end -}}
