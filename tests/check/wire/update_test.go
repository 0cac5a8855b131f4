package wire

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const modified = "the object has been modified; please apply your changes to the latest version and try again"

var updates = group("update", []check{
	{name: "an update with an old version is 409 Conflict", run: func(t T, s *server) {
		made := s.configMaps("a")
		s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: w}").want(200)
		status := s.do("PUT", s.path("configmaps", "a"), string(made.body)).fails(409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on configmaps "a": `+modified)
		details(t, status, "a", "", "configmaps")
	}},
	{name: "an update with a version that is no number is 500", run: func(t T, s *server) {
		s.configMaps("a")
		s.put(s.path("configmaps", "a"), "metadata: {name: a, resourceVersion: x}").fails(500, "", `strconv.ParseUint: parsing "x": invalid syntax`)
	}},
	{name: "an update without a version is unconditional", run: func(t T, s *server) {
		made := s.configMaps("a")
		got := s.put(s.path("configmaps", "a"), "{metadata: {name: a}, data: {k: w}}").want(200)
		require.Greater(t, number(t, got.version()), number(t, made.version()))
		require.Equal(t, made.meta().UID, got.meta().UID)
		require.Equal(t, made.meta().CreationTimestamp, got.meta().CreationTimestamp)
	}},
	{name: "some kinds are not updated without a version", run: func(t T, s *server) {
		s.post(s.path("leases"), "{metadata: {name: a}, spec: {holderIdentity: me}}").want(201)
		status := s.put(s.path("leases", "a"), "{metadata: {name: a}, spec: {holderIdentity: you}}").fails(422, metav1.StatusReasonInvalid,
			`leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`)
		details(t, status, "a", "coordination.k8s.io", "leases")
	}},
	{name: "an update replaces the whole", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "{metadata: {name: a, labels: {x: z}}, data: {k: v}}").want(201)
		got := s.put(s.path("configmaps", "a"), "metadata: {name: a}").want(200)
		require.Nil(t, got.at("data"))
		require.Empty(t, got.meta().Labels)
	}},
	{name: "an update of another uid is 409", run: func(t T, s *server) {
		s.configMaps("a")
		got := s.put(s.path("configmaps", "a"), "metadata: {name: a, uid: other}")
		status := got.fails(409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on configmaps "a": …`)
		require.Contains(t, status.Message, "Precondition failed: UID in precondition: other, UID in object meta: ")
	}},
	{name: "an update of nothing is 404", run: func(t T, s *server) {
		s.put(s.path("configmaps", "a"), "metadata: {name: a}").fails(404, metav1.StatusReasonNotFound, `configmaps "a" not found`)
	}},
	{name: "the name must be that of the URL", run: func(t T, s *server) {
		s.configMaps("a")
		s.put(s.path("configmaps", "a"), "metadata: {name: b}").fails(400, metav1.StatusReasonBadRequest,
			"the name of the object (b) does not match the name on the URL (a)")
		s.put(s.path("configmaps", "a"), "metadata: {}").fails(400, metav1.StatusReasonBadRequest,
			"the name of the object (a based on URL) was undeterminable: name must be provided")
	}},
	{name: "so must the namespace", run: func(t T, s *server) {
		s.configMaps("a")
		s.put(s.path("configmaps", "a"), "metadata: {name: a, namespace: other}").fails(400, metav1.StatusReasonBadRequest,
			"the namespace of the provided object does not match the namespace sent on the request")
	}},
	{name: "creationTimestamp and generation are the server's", run: func(t T, s *server) {
		made := s.configMaps("a").meta()
		got := s.put(s.path("configmaps", "a"), "metadata: {name: a, generation: 7, creationTimestamp: '2001-01-01T00:00:00Z'}").want(200).meta()
		require.Equal(t, made.CreationTimestamp, got.CreationTimestamp)
		require.Zero(t, got.Generation)
	}},
	{name: "an immutable ConfigMap stays", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "{metadata: {name: a}, data: {k: v}, immutable: true}").want(201)
		s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: w}").fails(422, metav1.StatusReasonInvalid,
			`ConfigMap "a" is invalid: data: Forbidden: field is immutable when `+"`immutable` is set")
	}},
	{name: "a Service keeps its address", run: func(t T, s *server) {
		made := s.post(s.path("services"), "{metadata: {name: a}, spec: {ports: [{port: 80}]}}").want(201)
		got := s.put(s.path("services", "a"), "{metadata: {name: a}, spec: {ports: [{port: 81}]}}").want(200)
		require.Equal(t, made.at("spec", "clusterIP"), got.at("spec", "clusterIP"))
	}},
	{name: "a dry run changes nothing", run: func(t T, s *server) {
		made := s.configMaps("a")
		got := s.put(s.path("configmaps", "a")+"?dryRun=All", "{metadata: {name: a}, data: {k: w}}").want(200)
		require.Equal(t, "w", got.at("data", "k"))
		require.JSONEq(t, string(made.body), string(s.get(s.path("configmaps", "a")).body))
	}},
	{name: "an object of a megabyte is taken, one of four is 413", run: func(t T, s *server) {
		body := func(size int) string {
			return `{"metadata":{"name":"a"},"data":{"k":"` + strings.Repeat("x", size) + `"}}`
		}
		s.do("POST", s.path("configmaps"), body(1000_000)).want(201)
		got := s.do("POST", s.path("configmaps"), body(4<<20))
		got.fails(413, metav1.StatusReasonRequestEntityTooLarge, "Request entity too large: limit is 3145728")
	}},
})

var status = group("status", []check{
	{name: "status is written through its subresource only", run: func(t T, s *server) {
		s.pod("a", "")
		got := s.patch(s.path("pods", "a"), mergePatch, "{metadata: {labels: {x: z}}, status: {phase: Running}}").want(200)
		require.Equal(t, "Pending", got.at("status", "phase"))
		require.Equal(t, map[string]string{"x": "z"}, got.meta().Labels)
	}},
	{name: "the subresource writes no spec", run: func(t T, s *server) {
		s.post(s.path("ingresses"), "{metadata: {name: a}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}").want(201)
		got := s.patch(s.path("ingresses", "a", "status"), mergePatch,
			"{spec: {ingressClassName: c}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}").want(200)
		require.Nil(t, got.at("spec", "ingressClassName"))
		require.NotNil(t, got.at("status", "loadBalancer", "ingress"))
	}},
	{name: "an update of status takes the whole object, and only its status", run: func(t T, s *server) {
		made := s.post(s.path("ingresses"), "{metadata: {name: a}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}").want(201)
		body := strings.Replace(string(made.body), `"loadBalancer":{}`, `"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}`, 1)
		got := s.do("PUT", s.path("ingresses", "a", "status"), strings.Replace(body, `"name":"web"`, `"name":"other"`, 1)).want(200)
		require.Equal(t, made.at("spec"), got.at("spec"))
		require.Equal(t, []any{map[string]any{"ip": "192.0.2.1"}}, got.at("status", "loadBalancer", "ingress"))
	}},
	{name: "only a Service of type LoadBalancer has the addresses of one", run: func(t T, s *server) {
		s.post(s.path("services"), "{metadata: {name: a}, spec: {ports: [{port: 80}]}}").want(201)
		s.patch(s.path("services", "a", "status"), mergePatch, "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}").fails(422, metav1.StatusReasonInvalid,
			"Service \"a\" is invalid: status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'")
		s.post(s.path("services"), "{metadata: {name: b}, spec: {type: LoadBalancer, ports: [{port: 80}]}}").want(201)
		s.patch(s.path("services", "b", "status"), mergePatch, "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}").want(200)
	}},
	{name: "status can be read alone, and is the object", run: func(t T, s *server) {
		made := s.pod("a", "")
		require.JSONEq(t, string(made.body), string(s.get(s.path("pods", "a", "status")).want(200).body))
	}},
	{name: "a kind without status has no such subresource", run: func(t T, s *server) {
		s.configMaps("a")
		s.get(s.path("configmaps", "a", "status")).fails(404, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	}},
	{name: "an old version conflicts there, too", run: func(t T, s *server) {
		made := s.pod("a", "")
		s.patch(s.path("pods", "a"), mergePatch, "metadata: {labels: {x: z}}").want(200)
		s.do("PUT", s.path("pods", "a", "status"), string(made.body)).fails(409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on pods "a": `+modified)
	}},
	{name: "a deployment keeps its selector", run: func(t T, s *server) {
		const deployment = "{metadata: {name: a}, spec: {replicas: 0, selector: {matchLabels: {a: %[1]s}}, " +
			"template: {metadata: {labels: {a: %[1]s}}, spec: {containers: [{name: c, image: i}]}}}}"
		s.post(s.path("deployments"), fmt.Sprintf(deployment, "b")).want(201)
		s.put(s.path("deployments", "a"), fmt.Sprintf(deployment, "b")).want(200)
		s.put(s.path("deployments", "a"), fmt.Sprintf(deployment, "c")).fails(422, metav1.StatusReasonInvalid,
			`Deployment.apps "a" is invalid: spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`)
	}},
})
