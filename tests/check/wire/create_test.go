package wire

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var creations = group("create", []check{
	{name: "the server sets uid, version and time, and nothing else", run: func(t T, s *server) {
		got := s.do("POST", s.path("configmaps"), `{"metadata":{"name":"a","uid":"mine","creationTimestamp":"2001-01-01T00:00:00Z",
			"deletionTimestamp":"2001-01-01T00:00:00Z","selfLink":"/mine"}}`).want(201).meta()
		require.Len(t, string(got.UID), 36)
		require.NotZero(t, number(t, got.ResourceVersion))
		require.Greater(t, got.CreationTimestamp.Year(), 2001)
		require.Nil(t, got.DeletionTimestamp)
		require.Empty(t, got.GetSelfLink())
		require.Equal(t, s.ns, got.Namespace)
	}},
	{name: "what comes back is what get gives", run: func(t T, s *server) {
		made := s.configMaps("a")
		require.JSONEq(t, string(made.body), string(s.get(s.path("configmaps", "a")).want(200).body))
	}},
	{name: "kinds with a spec count generations", run: func(t T, s *server) {
		made := s.post(s.path("ingresses"), "{metadata: {name: a}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}").want(201)
		require.EqualValues(t, 1, made.meta().Generation)
		label := s.patch(s.path("ingresses", "a"), mergePatch, "metadata: {labels: {x: z}}").want(200)
		require.EqualValues(t, 1, label.meta().Generation)
		spec := s.patch(s.path("ingresses", "a"), mergePatch, "spec: {ingressClassName: c}").want(200)
		require.EqualValues(t, 2, spec.meta().Generation)
		status := s.patch(s.path("ingresses", "a", "status"), mergePatch, "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}").want(200)
		require.EqualValues(t, 2, status.meta().Generation)
	}},
	{name: "one that is made anew has another uid and generation 1", run: func(t T, s *server) {
		const ingress = "{metadata: {name: a}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}"
		made := s.post(s.path("ingresses"), ingress).want(201)
		s.patch(s.path("ingresses", "a"), mergePatch, "spec: {ingressClassName: c}").want(200)
		s.delete(s.path("ingresses", "a"), "").want(200)
		anew := s.post(s.path("ingresses"), ingress).want(201)
		require.NotEqual(t, made.meta().UID, anew.meta().UID)
		require.EqualValues(t, 1, anew.meta().Generation)
	}},
	{name: "a version is refused", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "metadata: {name: a, resourceVersion: '5'}").
			fails(500, "", "resourceVersion should not be set on objects to be created")
	}},
	{name: "a taken name is 409 AlreadyExists", run: func(t T, s *server) {
		s.configMaps("a")
		status := s.post(s.path("configmaps"), "metadata: {name: a}").fails(409, metav1.StatusReasonAlreadyExists, `configmaps "a" already exists`)
		details(t, status, "a", "", "configmaps")
	}},
	{name: "details name the group", run: func(t T, s *server) {
		status := s.get(s.path("ingresses", "a")).fails(404, metav1.StatusReasonNotFound, `ingresses.networking.k8s.io "a" not found`)
		details(t, status, "a", "networking.k8s.io", "ingresses")
	}},
	{name: "generateName adds five characters", run: func(t T, s *server) {
		seen := map[string]bool{}
		for range 5 {
			got := s.post(s.path("configmaps"), "metadata: {generateName: web-}").want(201).meta()
			require.Regexp(t, "^web-[bcdfghjklmnpqrstvwxz2456789]{5}$", got.Name)
			require.Equal(t, "web-", got.GenerateName)
			seen[got.Name] = true
		}
		require.Len(t, seen, 5)
	}},
	{name: "a name wins over generateName", run: func(t T, s *server) {
		require.Equal(t, "a", s.post(s.path("configmaps"), "metadata: {name: a, generateName: web-}").want(201).meta().Name)
	}},
	{name: "a long generateName is cut", run: func(t T, s *server) {
		got := s.post(s.path("configmaps"), "metadata: {generateName: "+strings.Repeat("a", 70)+"}").want(201)
		require.Len(t, got.meta().Name, 63)
	}},
	{name: "no name is 422", run: func(t T, s *server) {
		status := s.post(s.path("configmaps"), "metadata: {}").fails(422, metav1.StatusReasonInvalid,
			`ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required`)
		require.Equal(t, []string{"FieldValueRequired metadata.name: Required value: name or generateName is required"}, causes(status))
		details(t, status, "", "", "ConfigMap")
	}},
	{name: "a bad name is 422 with the rule", run: func(t T, s *server) {
		status := s.post(s.path("configmaps"), "metadata: {name: B_d}").fails(422, metav1.StatusReasonInvalid,
			`ConfigMap "B_d" is invalid: metadata.name: Invalid value: "B_d": a lowercase RFC 1123 subdomain must consist of …`)
		require.Len(t, causes(status), 1)
		details(t, status, "B_d", "", "ConfigMap")
		s.post(s.path("services"), "{metadata: {name: a.b}, spec: {ports: [{port: 80}]}}").fails(422, metav1.StatusReasonInvalid,
			`Service "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots`)
	}},
	{name: "the name of a Service may begin with a digit", run: func(t T, s *server) {
		s.post(s.path("services"), "{metadata: {name: 1a}, spec: {ports: [{port: 80}]}}").want(201)
	}},
	{name: "every mistake is a cause", run: func(t T, s *server) {
		status := s.post(s.path("configmaps"), "{metadata: {name: a, labels: {a b: c, d: '-'}}, data: {e f: g}}").
			fails(422, metav1.StatusReasonInvalid, `ConfigMap "a" is invalid: [metadata.labels: Invalid value: …`)
		var fields []string
		for _, c := range status.Details.Causes {
			require.Equal(t, metav1.CauseTypeFieldValueInvalid, c.Type)
			fields = append(fields, c.Field)
		}
		require.Equal(t, []string{"metadata.labels", "metadata.labels", "data[e f]"}, fields)
	}},
	{name: "finalizers are qualified names", run: func(t T, s *server) {
		status := s.post(s.path("configmaps"), "metadata: {name: a, finalizers: [z]}").fails(422, metav1.StatusReasonInvalid,
			`ConfigMap "a" is invalid: metadata.finalizers[0]: Invalid value: "z": name is neither a standard finalizer name nor is it fully qualified`)
		require.Len(t, causes(status), 1)
		s.post(s.path("configmaps"), "metadata: {name: b, finalizers: [example.org/z]}").want(201)
	}},
	{name: "a Service without ports is 422", run: func(t T, s *server) {
		status := s.post(s.path("services"), "{metadata: {name: a}, spec: {}}").fails(422, metav1.StatusReasonInvalid,
			`Service "a" is invalid: spec.ports: Required value`)
		require.Equal(t, []string{"FieldValueRequired spec.ports: Required value"}, causes(status))
	}},
	{name: "an Ingress without rules is 422", run: func(t T, s *server) {
		s.post(s.path("ingresses"), "{metadata: {name: a}, spec: {}}").fails(422, metav1.StatusReasonInvalid,
			`Ingress.networking.k8s.io "a" is invalid: spec: Invalid value: null: either `+"`defaultBackend` or `rules` must be specified")
	}},
	{name: "the host of an Ingress is no IP address, and its paths are plain", run: func(t T, s *server) {
		s.post(s.path("ingresses"), `{metadata: {name: a}, spec: {rules: [{host: "010.0.0.1"}]}}`).fails(422, metav1.StatusReasonInvalid,
			`Ingress.networking.k8s.io "a" is invalid: spec.rules[0].host: Invalid value: "010.0.0.1": must be a DNS name, not an IP address`)
		for path, wrong := range map[string]string{"/a//b": "must not contain '//'", "/a/./b": "must not contain '/./'",
			"/a/../b": "must not contain '/../'", "/a%2Fb": "must not contain '%2F'", "/a/..": "cannot end with '/..'", "/a/.": "cannot end with '/.'"} {
			rule := fmt.Sprintf(`{http: {paths: [{path: %q, pathType: Exact, backend: {service: {name: a, port: {number: 80}}}}]}}`, path)
			s.post(s.path("ingresses"), "{metadata: {name: a}, spec: {rules: ["+rule+"]}}").fails(422, metav1.StatusReasonInvalid,
				fmt.Sprintf(`Ingress.networking.k8s.io "a" is invalid: spec.rules[0].http.paths[0].path: Invalid value: %q: %s`, path, wrong))
		}
	}},
	{name: "defaults are filled in", run: func(t T, s *server) {
		got := s.post(s.path("services"), "{metadata: {name: a}, spec: {ports: [{port: 80}]}}").want(201)
		require.Equal(t, "ClusterIP", got.at("spec", "type"))
		require.Equal(t, "None", got.at("spec", "sessionAffinity"))
		require.Equal(t, []any{"IPv4"}, got.at("spec", "ipFamilies"))
		require.Equal(t, "SingleStack", got.at("spec", "ipFamilyPolicy"))
		require.Equal(t, "Cluster", got.at("spec", "internalTrafficPolicy"))
		require.NotEmpty(t, got.at("spec", "clusterIP"))
		require.Equal(t, []any{map[string]any{"port": 80.0, "protocol": "TCP", "targetPort": 80.0}}, got.at("spec", "ports"))
		require.Equal(t, map[string]any{"loadBalancer": map[string]any{}}, got.at("status"))
	}},
	{name: "stringData becomes data", run: func(t T, s *server) {
		got := s.post(s.path("secrets"), "{metadata: {name: a}, stringData: {k: v}}").want(201)
		require.Nil(t, got.at("stringData"))
		require.Equal(t, map[string]any{"k": "dg=="}, got.at("data"))
	}},
	{name: "images that may change are always pulled", run: func(t T, s *server) {
		for image, policy := range map[string]string{"i": "Always", "i:latest": "Always", "i:v1": "IfNotPresent", "host:5000/i": "Always"} {
			got := s.post(s.path("pods"), `{metadata: {generateName: a-}, spec: {containers: [{name: c, image: "`+image+`"}]}}`).want(201)
			require.Equal(t, policy, got.at("spec", "containers").([]any)[0].(map[string]any)["imagePullPolicy"], image)
		}
	}},
	{name: "a Deployment selects what it makes", run: func(t T, s *server) {
		const body = "{metadata: {name: a}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: c, image: i}]}}}}"
		status := s.post(s.path("deployments"), fmt.Sprintf(body, "db")).fails(422, metav1.StatusReasonInvalid,
			`Deployment.apps "a" is invalid: spec.template.metadata.labels: Invalid value: {"app":"db"}: `+"`selector` does not match template `labels`")
		details(t, status, "a", "apps", "Deployment")
		s.post(s.path("deployments"), fmt.Sprintf(body, "web")).want(201)
	}},
	{name: "a Lease lasts", run: func(t T, s *server) {
		s.post(s.path("leases"), "{metadata: {name: a}, spec: {leaseDurationSeconds: 0}}").fails(422, metav1.StatusReasonInvalid,
			`Lease.coordination.k8s.io "a" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0`)
	}},
	{name: "an Event is one object in two groups", run: func(t T, s *server) {
		made := s.post(s.path("events"), fmt.Sprintf("{metadata: {name: a}, involvedObject: {kind: Pod, namespace: %s, name: p}, reason: R, message: m, type: Normal, count: 2}", s.ns)).want(201)
		got := s.get("/apis/events.k8s.io/v1/namespaces/" + s.ns + "/events/a").want(200)
		require.Equal(t, made.meta().UID, got.meta().UID)
		require.Equal(t, metav1.TypeMeta{Kind: "Event", APIVersion: "events.k8s.io/v1"}, got.meta().TypeMeta)
		require.Equal(t, "m", got.at("note"))
		require.Equal(t, "p", got.at("regarding", "name"))
		require.Equal(t, 2.0, got.at("deprecatedCount"))
		require.Equal(t, []string{"a"}, s.get(s.path("events")+"?fieldSelector=involvedObject.name%3Dp,reason%3DR").names())
	}},
	{name: "status is dropped", run: func(t T, s *server) {
		got := s.post(s.path("pods"), "{metadata: {name: a}, spec: {containers: [{name: c, image: i}]}, status: {phase: Running}}").want(201)
		require.Equal(t, "Pending", got.at("status", "phase"))
	}},
	{name: "another kind is 400", run: func(t T, s *server) {
		for kind, message := range map[string]string{
			"{kind: Secret, apiVersion: v1":    `Secret in version "v1" cannot be handled as a ConfigMap: …`,
			"{kind: Nope, apiVersion: v1":      `Nope in version "v1" cannot be handled as a ConfigMap: …`,
			"{kind: ConfigMap, apiVersion: v2": `ConfigMap in version "v2" cannot be handled as a ConfigMap: …`,
		} {
			s.post(s.path("configmaps"), kind+", metadata: {name: a}}").fails(400, metav1.StatusReasonBadRequest, message)
		}
	}},
	{name: "kind and apiVersion may be left out", run: func(t T, s *server) {
		for i, kind := range []string{"", "kind: ConfigMap, ", "apiVersion: v1, "} {
			got := s.post(s.path("configmaps"), fmt.Sprintf("{%smetadata: {name: a%d}}", kind, i)).want(201)
			require.Equal(t, metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, got.meta().TypeMeta)
		}
	}},
	{name: "another namespace is 400", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "metadata: {name: a, namespace: other}").fails(400, metav1.StatusReasonBadRequest,
			"the namespace of the provided object does not match the namespace sent on the request")
	}},
	{name: "a namespace that is not there is 404", run: func(t T, s *server) {
		status := s.post(pathIn("nowhere", "configmaps"), "metadata: {name: a}").fails(404, metav1.StatusReasonNotFound, `namespaces "nowhere" not found`)
		details(t, status, "nowhere", "", "namespaces")
	}},
	{name: "broken JSON is 400", run: func(t T, s *server) {
		s.do("POST", s.path("configmaps"), "{").fails(400, metav1.StatusReasonBadRequest,
			"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input …")
	}},
	{name: "no body is 400", run: func(t T, s *server) {
		s.do("POST", s.path("configmaps"), "", "Content-Type: application/json").fails(400, metav1.StatusReasonBadRequest,
			"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)")
	}},
	{name: "a number in place of a string is 400", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "{metadata: {name: a}, data: {k: 1}}").fails(400, metav1.StatusReasonBadRequest,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`)
	}},
	{name: "all that is wrong with a service is told at once, but for its IP", run: func(t T, s *server) {
		s.post(s.path("services"), "{metadata: {name: a}, spec: {type: None, ports: [{port: 0, protocol: WATER}]}}").
			fails(422, metav1.StatusReasonInvalid, `Service "a" is invalid: [spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive, `+
				`spec.ports[0].protocol: Unsupported value: "WATER": supported values: "SCTP", "TCP", "UDP", spec.ports[0].targetPort: Invalid value: 0: `+
				`must be between 1 and 65535, inclusive, spec.type: Unsupported value: "None": …`)
		s.post(s.path("services"), "{metadata: {name: a}, spec: {type: None, clusterIP: nowhere, ports: [{port: 0}]}}").
			fails(422, metav1.StatusReasonInvalid, `Service "a" is invalid: spec.clusterIPs[0]: Invalid value: "nowhere": must be a valid IP address, …`)
	}},
	{name: "more than a megabyte of data is 422", run: func(t T, s *server) {
		const megabyte = 1 << 20
		long, encoded := strings.Repeat("x", megabyte), strings.Repeat("xxxx", megabyte/3+1)
		for _, data := range []string{"data: {k: " + long + ", l: x}", "binaryData: {k: " + encoded + "}"} {
			s.post(s.path("configmaps"), "{metadata: {name: a}, "+data+"}").fails(422, metav1.StatusReasonInvalid,
				`ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes`)
		}
		s.post(s.path("configmaps"), "{metadata: {name: a}, data: {k: "+long+"}}").want(201)
		s.post(s.path("secrets"), "{metadata: {name: a}, stringData: {k: "+long+", l: x}}").fails(422, metav1.StatusReasonInvalid,
			`Secret "a" is invalid: data: Too long: may not be more than 1048576 bytes`)
	}},
	{name: "nothing is created across namespaces", run: func(t T, s *server) {
		s.post(all("configmaps"), "metadata: {name: a}").fails(405, metav1.StatusReasonMethodNotAllowed,
			"the server does not allow this method on the requested resource")
	}},
	{name: "a dry run creates nothing, but names and defaults", run: func(t T, s *server) {
		got := s.post(s.path("services")+"?dryRun=All", "{metadata: {generateName: a-}, spec: {ports: [{port: 80}]}}").want(201)
		require.NotEmpty(t, got.meta().Name)
		require.NotEmpty(t, got.meta().UID)
		require.Empty(t, got.version())
		require.Equal(t, "ClusterIP", got.at("spec", "type"))
		require.Empty(t, s.get(s.path("services")).names())
		s.post(s.path("configmaps")+"?dryRun=All", "metadata: {name: B_d}").want(422)
	}},
	{name: "dryRun is All or nothing", run: func(t T, s *server) {
		status := s.post(s.path("configmaps")+"?dryRun=Some", "metadata: {name: a}").fails(422, metav1.StatusReasonInvalid,
			`CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"`)
		details(t, status, "", "meta.k8s.io", "CreateOptions")
	}},
})

var validation = group("field validation", []check{
	{name: "Strict refuses unknown fields", run: func(t T, s *server) {
		s.post(s.path("configmaps")+"?fieldValidation=Strict", "{metadata: {name: a}, datum: {}, x: 1}").fails(400, metav1.StatusReasonBadRequest,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "datum", unknown field "x"`)
	}},
	{name: "Strict refuses duplicate fields", run: func(t T, s *server) {
		s.do("POST", s.path("configmaps")+"?fieldValidation=Strict", `{"metadata":{"name":"a"},"data":{},"data":{}}`).fails(400,
			metav1.StatusReasonBadRequest, `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data"`)
	}},
	{name: "Warn takes them with warnings, and is the default", run: func(t T, s *server) {
		for i, query := range []string{"", "?fieldValidation=Warn"} {
			got := s.post(s.path("configmaps")+query, fmt.Sprintf("{metadata: {name: a%d}, datum: {}, x: 1}", i)).want(201)
			require.Equal(t, []string{`299 - "unknown field \"datum\""`, `299 - "unknown field \"x\""`}, got.warnings())
			require.Nil(t, got.at("datum"))
		}
	}},
	{name: "Ignore takes them in silence", run: func(t T, s *server) {
		require.Empty(t, s.post(s.path("configmaps")+"?fieldValidation=Ignore", "{metadata: {name: a}, datum: {}}").want(201).warnings())
	}},
	{name: "another word is 422", run: func(t T, s *server) {
		s.post(s.path("configmaps")+"?fieldValidation=Some", "metadata: {name: a}").fails(422, metav1.StatusReasonInvalid,
			`CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Some": supported values: "", "Ignore", "Strict", "Warn"`)
	}},
	{name: "it holds for updates and patches, too", run: func(t T, s *server) {
		s.configMaps("a")
		s.put(s.path("configmaps", "a")+"?fieldValidation=Strict", "{metadata: {name: a}, x: 1}").fails(400, metav1.StatusReasonBadRequest,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "x"`)
		s.patch(s.path("configmaps", "a")+"?fieldValidation=Strict", mergePatch, "x: 1").fails(422, metav1.StatusReasonInvalid,
			` "" is invalid: patch: Invalid value: …`)
		require.Equal(t, []string{`299 - "unknown field \"x\""`}, s.patch(s.path("configmaps", "a"), mergePatch, "x: 1").want(200).warnings())
	}},
})
