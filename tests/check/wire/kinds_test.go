package wire

import (
	"encoding/json"
	"fmt"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// template is one of Pods that have the label a: b.
const template = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"

const (
	job        = "{metadata: {name: a}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}"
	deployment = "{metadata: {name: a}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, " + template + "}}"
	preserved  = `299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them ` +
		`or set propagationPolicy=Orphan to suppress this warning"`
)

// kinds is what some kinds do otherwise than others.
var kinds = group("kinds", []check{
	{name: "the Pods of a Job or ReplicationController outlive it, unless a policy says otherwise", run: func(t T, s *server) {
		for _, c := range []struct{ resource, kind, apiVersion, body string }{
			{"jobs", "Job", "batch/v1", job},
			{"replicationcontrollers", "ReplicationController", "v1", "{metadata: {name: a}, spec: {replicas: 0, selector: {a: b}, " + template + "}}"},
		} {
			s.post(s.path(c.resource), c.body).want(201)
			got := s.delete(s.path(c.resource, "a"), "").want(200).meta()
			require.Equal(t, []string{metav1.FinalizerOrphanDependents}, got.Finalizers, "which its Pods are released for")
			s.gone(s.path(c.resource, "a"))
			uid := s.post(s.path(c.resource), c.body).want(201).meta().UID
			s.post(s.path("configmaps"), fmt.Sprintf("metadata: {name: %s, ownerReferences: [{apiVersion: %s, kind: %s, name: a, uid: %s}]}",
				c.resource, c.apiVersion, c.kind, uid)).want(201)
			s.delete(s.path(c.resource, "a"), "propagationPolicy: Background").want(200)
			s.gone(s.path("configmaps", c.resource))
		}
	}},
	{name: "who deletes Jobs without a policy is warned", run: func(t T, s *server) {
		s.post(s.path("jobs"), job).want(201)
		require.Equal(t, []string{preserved}, s.delete(s.path("jobs"), "").want(200).warnings())
		s.gone(s.path("jobs", "a"))
		require.Empty(t, s.delete(s.path("jobs")+"?propagationPolicy=Orphan", "").want(200).warnings())
		require.Equal(t, []string{preserved}, s.delete(s.path("jobs", "a"), "").want(404).warnings())
	}},
	{name: "an update creates some kinds", run: func(t T, s *server) {
		const lease = "{metadata: {name: a%s}, spec: {holderIdentity: me}}"
		refused := s.put(s.path("leases", "a"), fmt.Sprintf(lease, ", uid: x")).fails(409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on leases.coordination.k8s.io "a": …`)
		require.Contains(t, refused.Message, "Precondition failed: UID in precondition: x, UID in object meta: ")
		got := s.put(s.path("leases", "a")+"?dryRun=All", fmt.Sprintf(lease, "")).want(201)
		require.Empty(t, got.version())
		got = s.put(s.path("leases", "a"), fmt.Sprintf(lease, ", resourceVersion: '7'")).want(201)
		require.NotEqual(t, "7", got.version())
		require.NotEmpty(t, got.meta().UID)
		require.Equal(t, "ClusterIP", s.put(s.path("services", "a"), "{metadata: {name: a}, spec: {ports: [{port: 80}]}}").want(201).at("spec", "type"))
		s.put(s.path("jobs", "a"), job).want(404)
	}},
	{name: "a Deployment's annotations are part of its generation", run: func(t T, s *server) {
		s.post(s.path("deployments"), deployment).want(201)
		got := s.patch(s.path("deployments", "a"), mergePatch, "metadata: {annotations: {x: z}}").want(200)
		require.EqualValues(t, 2, got.meta().Generation)
		got = s.patch(s.path("deployments", "a"), mergePatch, "metadata: {labels: {x: z}}").want(200)
		require.EqualValues(t, 2, got.meta().Generation)
	}},
	{name: "a HorizontalPodAutoscaler has a generation", run: func(t T, s *server) {
		got := s.post(s.path("horizontalpodautoscalers"), "{metadata: {name: a}, spec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a, apiVersion: apps/v1}}}").want(201)
		require.EqualValues(t, 1, got.meta().Generation)
		got = s.patch(s.path("horizontalpodautoscalers", "a"), mergePatch, "spec: {maxReplicas: 3}").want(200)
		require.EqualValues(t, 2, got.meta().Generation)
		require.EqualValues(t, 1, got.at("spec", "minReplicas"))
		require.Equal(t, []any{map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu", "target": map[string]any{
			"type": "Utilization", "averageUtilization": 80.0}}}}, got.at("spec", "metrics"))
	}},
	{name: "a PodDisruptionBudget has what it was given", run: func(t T, s *server) {
		got := s.post(s.path("poddisruptionbudgets"), "{metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}}}").want(201)
		require.Equal(t, map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}, got.at("spec"))
	}},
	{name: "the resources of a Pod's containers make its quality of service", run: func(t T, s *server) {
		for i, c := range []struct{ resources, class string }{
			{"{}", "BestEffort"},
			{"{limits: {cpu: 1, memory: 1Gi}}", "Guaranteed"},
			{"{requests: {cpu: 1}, limits: {cpu: 1, memory: 1Gi}}", "Guaranteed"},
			{"{requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}", "Burstable"},
			{"{limits: {cpu: 1}}", "Burstable"},
			{"{requests: {memory: 1Gi}}", "Burstable"},
		} {
			got := s.post(s.path("pods"), fmt.Sprintf("{metadata: {name: p%d}, spec: {containers: [{name: c, image: i, resources: %s}]}}", i, c.resources)).want(201)
			require.Equal(t, c.class, got.at("status", "qosClass"), c.resources)
		}
		got := s.post(s.path("pods"), "{metadata: {name: a}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}, {name: d, image: i}]}}").want(201)
		require.Equal(t, "Burstable", got.at("status", "qosClass"))
	}},
	{name: "every kind that makes Pods fills in its template", run: func(t T, s *server) {
		const spec = "spec: {serviceAccountName: s, restartPolicy: %s, volumes: [{name: a}, {name: b, secret: {secretName: b}}, {name: c, configMap: {name: c}}, " +
			"{name: d, downwardAPI: {items: [{path: x, fieldRef: {fieldPath: metadata.name}}]}}, {name: e, hostPath: {path: /e}}, " +
			"{name: f, projected: {sources: [{downwardAPI: {items: [{path: x, fieldRef: {fieldPath: metadata.name}}]}}, {serviceAccountToken: {path: t}}]}}], " +
			"containers: [{name: c, image: i, env: [{name: E, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], " +
			"livenessProbe: {httpGet: {port: 80}}, readinessProbe: {grpc: {port: 80}}, startupProbe: {tcpSocket: {port: 80}}, " +
			"lifecycle: {preStop: {httpGet: {port: 80}}}, resources: {limits: {cpu: 1}}}]}"
		const filled = `{"containers":[{"env":[{"name":"E","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],"image":"i",` +
			`"imagePullPolicy":"Always","lifecycle":{"preStop":{"httpGet":{"path":"/","port":80,"scheme":"HTTP"}}},"livenessProbe":{"failureThreshold":3,` +
			`"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"periodSeconds":10,"successThreshold":1,"timeoutSeconds":1},"name":"c",` +
			`"readinessProbe":{"failureThreshold":3,"grpc":{"port":80,"service":""},"periodSeconds":10,"successThreshold":1,"timeoutSeconds":1},` +
			`"resources":{"limits":{"cpu":"1"}},"startupProbe":{"failureThreshold":3,"periodSeconds":10,"successThreshold":1,"tcpSocket":{"port":80},` +
			`"timeoutSeconds":1},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst",` +
			`"restartPolicy":"%s","schedulerName":"default-scheduler","securityContext":{},"serviceAccount":"s","serviceAccountName":"s",` +
			`"terminationGracePeriodSeconds":30,"volumes":[{"emptyDir":{},"name":"a"},{"name":"b","secret":{"defaultMode":420,"secretName":"b"}},` +
			`{"configMap":{"defaultMode":420,"name":"c"},"name":"c"},{"downwardAPI":{"defaultMode":420,"items":[{"fieldRef":{"apiVersion":"v1",` +
			`"fieldPath":"metadata.name"},"path":"x"}]},"name":"d"},{"hostPath":{"path":"/e","type":""},"name":"e"},{"name":"f","projected":` +
			`{"defaultMode":420,"sources":[{"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"},"path":"x"}]}},` +
			`{"serviceAccountToken":{"expirationSeconds":3600,"path":"t"}}]}}]}`
		const selects = "selector: {matchLabels: {a: b}}, "
		for resource, before := range map[string]string{"deployments": selects, "replicasets": selects, "statefulsets": selects, "daemonsets": selects,
			"replicationcontrollers": "", "jobs": "", "cronjobs": "schedule: '* * * * *', jobTemplate: {spec: {"} {
			policy := "Always"
			path := []string{"spec", "template", "spec"}
			if before == "" && resource == "jobs" || resource == "cronjobs" {
				policy = "Never"
			}
			body := "{metadata: {name: a}, spec: {" + before + "template: {metadata: {labels: {a: b}}, " + fmt.Sprintf(spec, policy) + "}}}"
			if resource == "cronjobs" {
				body += "}}"
				path = []string{"spec", "jobTemplate", "spec", "template", "spec"}
			}
			got, err := json.Marshal(s.post(s.path(resource), body).want(201).at(path...))
			require.NoError(t, err)
			require.JSONEq(t, fmt.Sprintf(filled, policy), string(got), resource)
		}
	}},
	{name: "a Pod requests what its limits say", run: func(t T, s *server) {
		got := s.post(s.path("pods"), "{metadata: {name: a}, spec: {hostNetwork: true, terminationGracePeriodSeconds: -5, containers: [{name: c, image: i, "+
			"ports: [{containerPort: 80}], resources: {requests: {cpu: 1}, limits: {cpu: 2, memory: 1Gi}}}]}}").want(201)
		c := got.at("spec", "containers").([]any)[0].(map[string]any)
		require.Equal(t, map[string]any{"limits": map[string]any{"cpu": "2", "memory": "1Gi"}, "requests": map[string]any{"cpu": "1", "memory": "1Gi"}}, c["resources"])
		require.EqualValues(t, 80, c["ports"].([]any)[0].(map[string]any)["hostPort"])
		require.EqualValues(t, 1, got.at("spec", "terminationGracePeriodSeconds"))
	}},
	{name: "some more defaults", run: func(t T, s *server) {
		got := s.post(s.path("daemonsets"), "{metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, "+template+"}}").want(201)
		require.Equal(t, map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": 0.0, "maxUnavailable": 1.0}},
			got.at("spec", "updateStrategy"))
		got = s.post(s.path("replicationcontrollers"), "{metadata: {name: a}, spec: {"+template+"}}").want(201)
		require.Equal(t, map[string]any{"a": "b"}, got.at("spec", "selector"))
		require.Equal(t, map[string]string{"a": "b"}, got.meta().Labels)
		got = s.post(s.path("services"), "{metadata: {name: a}, spec: {sessionAffinity: ClientIP, ports: [{port: 80}]}}").want(201)
		require.Equal(t, map[string]any{"clientIP": map[string]any{"timeoutSeconds": 10800.0}}, got.at("spec", "sessionAffinityConfig"))
	}},
	{name: "a Service's address is its own", run: func(t T, s *server) {
		service := func(name, more string) string {
			return "{metadata: {name: " + name + "}, spec: {" + more + "ports: [{port: 80}]}}"
		}
		ip := s.post(s.path("services"), service("a", "")).want(201).at("spec", "clusterIP").(string)
		s.post(s.path("services"), service("b", "clusterIP: "+ip+", ")).fails(422, metav1.StatusReasonInvalid, fmt.Sprintf(
			`Service "b" is invalid: spec.clusterIPs: Invalid value: ["%s"]: failed to allocate IP %[1]s: provided IP is already allocated`, ip))
		s.delete(s.path("services", "a"), "").want(200)
		require.Equal(t, ip, s.post(s.path("services"), service("b", "clusterIP: "+ip+", ")).want(201).at("spec", "clusterIP"))
	}},
	{name: "a Service's node port is its own", run: func(t T, s *server) {
		service := func(name, kind, port string) string {
			return "{metadata: {name: " + name + "}, spec: {type: " + kind + ", ports: [{port: 80" + port + "}]}}"
		}
		port := func(r *response) string {
			return fmt.Sprint(r.at("spec", "ports").([]any)[0].(map[string]any)["nodePort"])
		}
		given := port(s.post(s.path("services"), service("a", "NodePort", "")).want(201))
		const at = `is invalid: spec.ports[0].nodePort: `
		s.post(s.path("services"), service("b", "NodePort", ", nodePort: "+given)).fails(422, metav1.StatusReasonInvalid,
			`Service "b" `+at+`Invalid value: `+given+`: provided port is already allocated`)
		s.post(s.path("services"), service("b", "NodePort", ", nodePort: 99")).fails(422, metav1.StatusReasonInvalid,
			`Service "b" `+at+`Invalid value: 99: provided port is not in the valid range. The range of valid ports is 30000-32767`)
		s.post(s.path("services"), service("b", "ClusterIP", ", nodePort: "+given)).fails(422, metav1.StatusReasonInvalid,
			`Service "b" `+at+"Forbidden: may not be used when `type` is 'ClusterIP'")
		other := port(s.post(s.path("services"), service("b", "NodePort", "")).want(201))
		s.patch(s.path("services", "b"), jsonPatch, "[{op: replace, path: /spec/ports/0/nodePort, value: "+given+"}]").fails(422, metav1.StatusReasonInvalid,
			`Service "b" `+at+`Invalid value: `+given+`: provided port is already allocated`)
		s.patch(s.path("services", "a"), mergePatch, "spec: {type: ClusterIP}").want(200)
		require.NotEqual(t, given, other)
		require.Equal(t, given, port(s.patch(s.path("services", "b"), jsonPatch, "[{op: replace, path: /spec/ports/0/nodePort, value: "+given+"}]").want(200)))
		got := s.post(s.path("services"), "{metadata: {name: c}, spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}}").want(201)
		require.Equal(t, "<nil>", port(got))
	}},
})
