package wire

import (
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// database is a StatefulSet as short as it can be, for replacements.
const database = "{metadata: {name: db, labels: {x: z}}, spec: {serviceName: db, replicas: 2, minReadySeconds: 0, " +
	"selector: {matchLabels: {app: db}}, podManagementPolicy: OrderedReady, " +
	"template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: 'mariadb:11'}]}}, " +
	"persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain}, volumeClaimTemplates: [{metadata: {name: datadir}, " +
	"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}"

// altered is the database with one thing changed.
func altered(t T, was, is string) string {
	require.Contains(t, database, was)
	return strings.ReplaceAll(database, was, is)
}

var statefulSets = group("statefulset", []check{
	{name: "defaults are filled in", run: func(t T, s *server) {
		made := s.post(s.path("statefulsets"), altered(t, "podManagementPolicy: OrderedReady, ", "")).want(201)
		require.Equal(t, "OrderedReady", made.at("spec", "podManagementPolicy"))
		require.Equal(t, map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"},
			made.at("spec", "persistentVolumeClaimRetentionPolicy"))
		strategy := made.at("spec", "updateStrategy").(map[string]any)
		require.Equal(t, "RollingUpdate", strategy["type"])
		require.EqualValues(t, 0, strategy["rollingUpdate"].(map[string]any)["partition"])
		claim := made.at("spec", "volumeClaimTemplates").([]any)[0].(map[string]any)
		require.Equal(t, []any{"v1", "PersistentVolumeClaim"}, []any{claim["apiVersion"], claim["kind"]})
		require.Equal(t, "Filesystem", claim["spec"].(map[string]any)["volumeMode"])
		require.Equal(t, map[string]any{"phase": "Pending"}, claim["status"])
		require.Equal(t, map[string]any{"replicas": 0.0, "availableReplicas": 0.0}, made.at("status"))
	}},
	{name: "what makes the identity of its Pods cannot change", run: func(t T, s *server) {
		s.post(s.path("statefulsets"), database).want(201)
		for _, change := range []struct{ was, is, message string }{
			{"serviceName: db", "serviceName: other", `spec.serviceName: Invalid value: "other": field is immutable`},
			{"OrderedReady", "Parallel", `spec.podManagementPolicy: Invalid value: "Parallel": field is immutable`},
			{"app: db", "app: web", `spec.selector: Invalid value: {"matchLabels":{"app":"web"}}: field is immutable`},
			{"1Gi", "2Gi", `spec.volumeClaimTemplates: Invalid value: …`},
			{"name: datadir", "name: data", `spec.volumeClaimTemplates: Invalid value: …`},
		} {
			s.put(s.path("statefulsets", "db"), altered(t, change.was, change.is)).fails(422,
				metav1.StatusReasonInvalid, `StatefulSet.apps "db" is invalid: `+change.message)
		}
	}},
	{name: "each of several changes that cannot be is told", run: func(t T, s *server) {
		s.post(s.path("statefulsets"), database).want(201)
		body := strings.ReplaceAll(altered(t, "serviceName: db", "serviceName: other"), "1Gi", "2Gi")
		got := s.put(s.path("statefulsets", "db"), body).want(422)
		status := &metav1.Status{}
		got.into(status)
		told := causes(status)
		require.Len(t, told, 2)
		require.Equal(t, `FieldValueInvalid spec.serviceName: Invalid value: "other": field is immutable`, told[0])
		require.True(t, strings.HasSuffix(told[1], ": field is immutable"), told[1])
	}},
	{name: "the rest can change, and counts a generation", run: func(t T, s *server) {
		before := s.post(s.path("statefulsets"), database).want(201).meta()
		for _, change := range []struct{ was, is string }{
			{"replicas: 2", "replicas: 3"}, {"mariadb:11", "mariadb:12"}, {"minReadySeconds: 0", "minReadySeconds: 1"},
			{"whenDeleted: Retain", "whenDeleted: Delete"},
		} {
			after := s.put(s.path("statefulsets", "db"), altered(t, change.was, change.is)).want(200).meta()
			require.Equal(t, before.Generation+1, after.Generation, change.is)
			before = after
		}
		after := s.patch(s.path("statefulsets", "db"), mergePatch, "metadata: {labels: {x: w}}").want(200).meta()
		require.Equal(t, before.Generation, after.Generation)
	}},
	{name: "what is applied again without a change is no write", run: func(t T, s *server) {
		body := strings.Replace(database, "{metadata", "{apiVersion: apps/v1, kind: StatefulSet, metadata", 1)
		path := s.path("statefulsets", "db") + "?fieldManager=me"
		made := s.patch(path, applyPatch, body).want(201)
		require.Equal(t, made.version(), s.patch(path, applyPatch, body).want(200).version())
		body = strings.Replace(body, "1Gi", "2Gi", 1)
		s.patch(path, applyPatch, body).fails(422, metav1.StatusReasonInvalid,
			`StatefulSet.apps "db" is invalid: spec.volumeClaimTemplates: …`)
	}},
	{name: "its status says which generation it is about", run: func(t T, s *server) {
		made := s.post(s.path("statefulsets"), database).want(201)
		got := s.patch(s.path("statefulsets", "db", "status"), mergePatch,
			"{spec: {replicas: 9}, status: {observedGeneration: 1, replicas: 2, readyReplicas: 1}}").want(200)
		require.EqualValues(t, 2, got.at("spec", "replicas"))
		require.EqualValues(t, 1, got.at("status", "readyReplicas"))
		require.Equal(t, made.meta().Generation, got.meta().Generation)
	}},
	{name: "no more are ready than there are", run: func(t T, s *server) {
		s.post(s.path("statefulsets"), database).want(201)
		s.patch(s.path("statefulsets", "db", "status"), mergePatch,
			"status: {replicas: 1, readyReplicas: 2}").fails(422,
			metav1.StatusReasonInvalid, `StatefulSet.apps "db" is invalid: status.readyReplicas: Invalid value: 2: `+
				`cannot be greater than status.replicas`)
		s.post(s.path("deployments"), "{metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, template: "+
			"{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}").want(201)
		s.patch(s.path("deployments", "web", "status"), mergePatch,
			"status: {replicas: 1, readyReplicas: 1, availableReplicas: 2}").fails(
			422, metav1.StatusReasonInvalid, `Deployment.apps "web" is invalid: `+
				"[status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas, "+
				"status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas]")
	}},
	{name: "it selects what it makes", run: func(t T, s *server) {
		body := strings.Replace(database, "labels: {app: db}", "labels: {app: web}", 1)
		s.post(s.path("statefulsets"), body).fails(422, metav1.StatusReasonInvalid,
			`StatefulSet.apps "db" is invalid: spec.template.metadata.labels: Invalid value: {"app":"web"}: `+
				"`selector` does not match template `labels`")
		body = strings.Replace(database, "selector: {matchLabels: {app: db}}, ", "", 1)
		s.post(s.path("statefulsets"), body).fails(422, metav1.StatusReasonInvalid,
			`StatefulSet.apps "db" is invalid: [`+
				"spec.selector: Required value, spec.template.metadata.labels: Invalid value: {\"app\":\"db\"}: "+
				"`selector` does not match template `labels`]")
		body = strings.Replace(database, "{matchLabels: {app: db}}", "{}", 1)
		s.post(s.path("statefulsets"), body).fails(422, metav1.StatusReasonInvalid,
			`StatefulSet.apps "db" is invalid: spec.selector: Invalid value: {}: `+
				`empty selector is invalid for statefulset`)
		s.post(s.path("deployments"), "{metadata: {name: web}, spec: {selector: {}, template: "+
			"{metadata: {labels: {a: b}}, "+
			"spec: {containers: [{name: c, image: i}]}}}}").fails(422, metav1.StatusReasonInvalid,
			`Deployment.apps "web" is invalid: spec.selector: Invalid value: {}: `+
				`empty selector is invalid for deployment`)
	}},
	{name: "its claims go with it only if they are its own", run: func(t T, s *server) {
		made := s.post(s.path("statefulsets"), database).want(201).meta()
		owner := "{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true, blockOwnerDeletion: true, " +
			"uid: " + string(made.UID) + "}"
		claim := func(name, owners string) {
			s.post(s.path("persistentvolumeclaims"), "{metadata: {name: "+name+", ownerReferences: ["+owners+"]}, "+
				"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}").want(201)
		}
		claim("mine", owner)
		claim("kept", "")
		s.delete(s.path("statefulsets", "db"), "").want(200)
		s.eventually("the claim is marked or gone", func() bool {
			got := s.get(s.path("persistentvolumeclaims", "mine"))
			return got.code == 404 || got.meta().DeletionTimestamp != nil // a real server has a finalizer on claims
		})
		require.Nil(t, s.get(s.path("persistentvolumeclaims", "kept")).want(200).meta().DeletionTimestamp)
	}},
	{name: "a Secret keeps its type", run: func(t T, s *server) {
		s.post(s.path("secrets"), "{metadata: {name: a}, stringData: {password: x}}").want(201)
		s.patch(s.path("secrets", "a"), mergePatch, "type: example.com/other").fails(422, metav1.StatusReasonInvalid,
			`Secret "a" is invalid: type: Invalid value: "example.com/other": field is immutable`)
		s.patch(s.path("secrets", "a"), mergePatch, "stringData: {password: z}").want(200)
	}},
})
