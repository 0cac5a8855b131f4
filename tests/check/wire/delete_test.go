package wire

import (
	"fmt"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var deletions = group("delete", []check{
	{name: "a deletion answers with a Status that names the object", run: func(t T, s *server) {
		uid := s.configMaps("a").meta().UID
		got := s.delete(s.path("configmaps", "a"), "").want(200)
		status := &metav1.Status{}
		got.into(status)
		require.Equal(t, metav1.StatusSuccess, status.Status)
		details(t, status, "a", "", "configmaps")
		require.Equal(t, uid, status.Details.UID)
		s.get(s.path("configmaps", "a")).want(404)
	}},
	{name: "that of a Service answers with the Service", run: func(t T, s *server) {
		uid := s.post(s.path("services"), "{metadata: {name: a}, spec: {ports: [{port: 80}]}}").want(201).meta().UID
		got := s.delete(s.path("services", "a"), "").want(200).meta()
		require.Equal(t, "Service", got.Kind)
		require.Equal(t, uid, got.UID)
	}},
	{name: "what is not there cannot be deleted", run: func(t T, s *server) {
		details(t, s.delete(s.path("configmaps", "a"), "").fails(404, metav1.StatusReasonNotFound, `configmaps "a" not found`), "a", "", "configmaps")
	}},
	{name: "a precondition on the uid", run: func(t T, s *server) {
		uid := s.configMaps("a").meta().UID
		status := s.delete(s.path("configmaps", "a"), "preconditions: {uid: other}").fails(409, metav1.StatusReasonConflict, fmt.Sprintf(
			`Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in record (%s). `+
				"The object might have been deleted and then recreated", uid))
		details(t, status, "a", "", "ConfigMap")
		s.delete(s.path("configmaps", "a"), fmt.Sprintf("preconditions: {uid: %s}", uid)).want(200)
	}},
	{name: "a precondition on the version", run: func(t T, s *server) {
		version := s.configMaps("a").version()
		s.delete(s.path("configmaps", "a"), "preconditions: {resourceVersion: '1'}").fails(409, metav1.StatusReasonConflict, fmt.Sprintf(
			`Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (%s). `+
				"The object might have been modified", version))
		s.delete(s.path("configmaps", "a"), "preconditions: {resourceVersion: '"+version+"'}").want(200)
	}},
	{name: "a policy that is none is 422", run: func(t T, s *server) {
		s.configMaps("a")
		const message = `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", "Orphan", "nil"`
		s.delete(s.path("configmaps", "a"), "propagationPolicy: Nope").fails(422, metav1.StatusReasonInvalid, message)
		s.delete(s.path("configmaps", "a")+"?propagationPolicy=Nope", "").fails(422, metav1.StatusReasonInvalid, message)
	}},
	{name: "a body of another kind is 400", run: func(t T, s *server) {
		s.configMaps("a")
		s.delete(s.path("configmaps", "a"), "{kind: Nope, apiVersion: v1}").fails(400, metav1.StatusReasonBadRequest, `no kind "Nope" is registered for version "v1" in scheme …`)
		s.delete(s.path("configmaps", "a"), "{kind: DeleteOptions, apiVersion: v1}").want(200)
	}},
	{name: "a dry run deletes nothing", run: func(t T, s *server) {
		s.configMaps("a")
		s.delete(s.path("configmaps", "a"), "dryRun: [All]").want(200)
		s.get(s.path("configmaps", "a")).want(200)
	}},
	{name: "a collection is deleted by selector", run: func(t T, s *server) {
		for name, app := range map[string]string{"a": "x", "b": "z", "c": "x"} {
			s.post(s.path("configmaps"), "metadata: {name: "+name+", labels: {app: "+app+"}}").want(201)
		}
		got := s.delete(s.path("configmaps")+"?labelSelector=app%3Dx", "").want(200)
		require.Equal(t, "ConfigMapList", got.list().Kind)
		require.Equal(t, []string{"a", "c"}, got.names())
		require.Equal(t, []string{"b"}, s.get(s.path("configmaps")).names())
	}},
	{name: "a collection is deleted whole", run: func(t T, s *server) {
		s.configMaps("a", "b")
		s.post(s.path("configmaps"), "metadata: {name: c, finalizers: [x.org/z]}").want(201)
		s.delete(s.path("configmaps"), "").want(200)
		require.Equal(t, []string{"c"}, s.get(s.path("configmaps")).names())
	}},
})

var finalizers = group("finalizers", []check{
	{name: "with a finalizer a deletion only marks", run: func(t T, s *server) {
		made := s.post(s.path("configmaps"), "metadata: {name: a, finalizers: [x.org/z]}").want(201)
		got := s.delete(s.path("configmaps", "a"), "").want(200).meta()
		require.Equal(t, "ConfigMap", got.Kind)
		require.NotNil(t, got.DeletionTimestamp)
		require.Equal(t, new(int64), got.DeletionGracePeriodSeconds)
		require.Greater(t, number(t, got.ResourceVersion), number(t, made.version()))
		again := s.delete(s.path("configmaps", "a"), "").want(200).meta()
		require.Equal(t, got.ResourceVersion, again.ResourceVersion)
	}},
	{name: "the object goes with its last finalizer", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "metadata: {name: a, finalizers: [x.org/y, x.org/z]}").want(201)
		w := s.watch(s.path("configmaps"))
		s.delete(s.path("configmaps", "a"), "").want(200)
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {finalizers: [x.org/z]}").want(200)
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {finalizers: null}").want(200)
		e := w.expect("ADDED a", "MODIFIED a", "MODIFIED a", "DELETED a")
		require.Equal(t, []string{"x.org/z"}, e.meta(t).Finalizers, "the last state that was stored")
		require.NotNil(t, e.meta(t).DeletionTimestamp)
		s.get(s.path("configmaps", "a")).want(404)
	}},
	{name: "no finalizer is added to what is being deleted", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "metadata: {name: a, finalizers: [x.org/z]}").want(201)
		s.delete(s.path("configmaps", "a"), "").want(200)
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {finalizers: [x.org/z, x.org/y]}").fails(422, metav1.StatusReasonInvalid,
			`ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.org/y"}`)
	}},
	{name: "a deletion is not taken back", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "metadata: {name: a, finalizers: [x.org/z]}").want(201)
		marked := s.delete(s.path("configmaps", "a"), "").want(200).meta()
		got := s.put(s.path("configmaps", "a"), "metadata: {name: a, finalizers: [x.org/z]}").want(200).meta()
		require.Equal(t, marked.DeletionTimestamp, got.DeletionTimestamp)
	}},
	{name: "a name is taken until its object is gone", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "metadata: {name: a, finalizers: [x.org/z]}").want(201)
		s.delete(s.path("configmaps", "a"), "").want(200)
		s.post(s.path("configmaps"), "metadata: {name: a}").fails(409, metav1.StatusReasonAlreadyExists, `object is being deleted: configmaps "a" already exists`)
	}},
	{name: "what has a spec counts its deletion as a generation", run: func(t T, s *server) {
		s.post(s.path("ingresses"), "{metadata: {name: a, finalizers: [x.org/z]}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}").want(201)
		require.EqualValues(t, 2, s.delete(s.path("ingresses", "a"), "").want(200).meta().Generation)
	}},
})

// owned creates a ConfigMap "owner" and dependents of it; blocking is the reference's blockOwnerDeletion.
func (s *server) owned(blocking bool, names ...string) {
	s.t.Helper()
	uid := s.configMaps("owner").meta().UID
	for _, name := range names {
		s.post(s.path("configmaps"), fmt.Sprintf("metadata: {name: %s, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s, blockOwnerDeletion: %t}]}",
			name, uid, blocking)).want(201)
	}
}

var garbage = group("garbage collection", []check{
	{name: "in the background dependents go after their owner", run: func(t T, s *server) {
		s.owned(false, "a", "b")
		s.delete(s.path("configmaps", "owner"), "propagationPolicy: Background").want(200)
		s.get(s.path("configmaps", "owner")).want(404)
		s.gone(s.path("configmaps", "a"))
		s.gone(s.path("configmaps", "b"))
	}},
	{name: "in the foreground the owner goes last", run: func(t T, s *server) {
		s.owned(true, "a")
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {finalizers: [x.org/z]}").want(200)
		got := s.delete(s.path("configmaps", "owner"), "propagationPolicy: Foreground").want(200).meta()
		require.Equal(t, []string{metav1.FinalizerDeleteDependents}, got.Finalizers)
		require.NotNil(t, got.DeletionTimestamp)
		s.eventually("the dependent is marked", func() bool { return s.get(s.path("configmaps", "a")).want(200).meta().DeletionTimestamp != nil })
		s.get(s.path("configmaps", "owner")).want(200)
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {finalizers: null}").want(200)
		s.gone(s.path("configmaps", "owner"))
	}},
	{name: "in the foreground the owner does not wait for who does not block it", run: func(t T, s *server) {
		s.owned(false, "a")
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {finalizers: [x.org/z]}").want(200)
		s.delete(s.path("configmaps", "owner"), "propagationPolicy: Foreground").want(200)
		s.gone(s.path("configmaps", "owner"))
		s.eventually("the dependent is marked", func() bool {
			return s.get(s.path("configmaps", "a")).want(200).meta().DeletionTimestamp != nil
		})
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {finalizers: null}").want(200)
		s.gone(s.path("configmaps", "a"))
	}},
	{name: "orphans stay and forget their owner", run: func(t T, s *server) {
		s.owned(false, "a")
		got := s.delete(s.path("configmaps", "owner"), "propagationPolicy: Orphan").want(200).meta()
		require.Equal(t, []string{metav1.FinalizerOrphanDependents}, got.Finalizers)
		s.gone(s.path("configmaps", "owner"))
		require.Empty(t, s.get(s.path("configmaps", "a")).want(200).meta().OwnerReferences)
	}},
	{name: "the policy may be in the query", run: func(t T, s *server) {
		s.owned(false, "a")
		s.delete(s.path("configmaps", "owner")+"?propagationPolicy=Orphan", "").want(200)
		s.gone(s.path("configmaps", "owner"))
		s.get(s.path("configmaps", "a")).want(200)
	}},
	{name: "orphanDependents still works, but not beside a policy", run: func(t T, s *server) {
		s.owned(false, "a")
		s.delete(s.path("configmaps", "owner"), "{orphanDependents: true, propagationPolicy: Orphan}").fails(422, metav1.StatusReasonInvalid,
			`DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set`)
		s.delete(s.path("configmaps", "owner"), "orphanDependents: true").want(200)
		s.gone(s.path("configmaps", "owner"))
		s.get(s.path("configmaps", "a")).want(200)
	}},
	{name: "what refers to an owner that never was is collected", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: b, uid: 00000000-0000-0000-0000-000000000000}]}").want(201)
		s.gone(s.path("configmaps", "a"))
	}},
	{name: "an owner reference needs all of its parts", run: func(t T, s *server) {
		status := s.post(s.path("configmaps"), "metadata: {name: a, ownerReferences: [{apiVersion: '', kind: '', name: '', uid: ''}]}").
			fails(422, metav1.StatusReasonInvalid, `ConfigMap "a" is invalid: [metadata.ownerReferences[0].apiVersion: …`)
		require.Len(t, status.Details.Causes, 4)
	}},
	{name: "at most one owner is the controller", run: func(t T, s *server) {
		ref := "{apiVersion: v1, kind: ConfigMap, controller: true, name: %s, uid: %s}"
		s.post(s.path("configmaps"), "metadata: {name: a, ownerReferences: ["+fmt.Sprintf(ref, "b", "u1")+", "+fmt.Sprintf(ref, "c", "u2")+"]}").
			fails(422, metav1.StatusReasonInvalid, `ConfigMap "a" is invalid: metadata.ownerReferences: Invalid value: …`)
	}},
})

var namespacesGroup = group("namespaces", []check{
	{name: "a namespace is active and has a finalizer in its spec", run: func(t T, s *server) {
		got := s.get("/api/v1/namespaces/" + s.ns).want(200)
		require.Equal(t, "Active", got.at("status", "phase"))
		require.Equal(t, []any{"kubernetes"}, got.at("spec", "finalizers"))
		require.Equal(t, map[string]string{"kubernetes.io/metadata.name": s.ns}, got.meta().Labels)
	}},
	{name: "a namespace that is deleted terminates, empties and goes", run: func(t T, s *server) {
		s.configMaps("a", "b")
		got := s.delete("/api/v1/namespaces/"+s.ns, "").want(200)
		require.Equal(t, "Terminating", got.at("status", "phase"))
		require.NotNil(t, got.meta().DeletionTimestamp)
		require.Nil(t, got.meta().DeletionGracePeriodSeconds, "there is no grace to speak of")
		s.gone("/api/v1/namespaces/" + s.ns)
		require.Empty(t, s.get(s.path("configmaps")).names())
	}},
	{name: "nothing is created in a terminating namespace", run: func(t T, s *server) {
		s.post(s.path("configmaps"), "metadata: {name: a, finalizers: [x.org/z]}").want(201)
		s.delete("/api/v1/namespaces/"+s.ns, "").want(200)
		status := s.post(s.path("configmaps"), "metadata: {name: b}").fails(403, metav1.StatusReasonForbidden, fmt.Sprintf(
			`configmaps "b" is forbidden: unable to create new content in namespace %s because it is being terminated`, s.ns))
		require.Equal(t, []string{fmt.Sprintf("NamespaceTerminating metadata.namespace: namespace %s is being terminated", s.ns)}, causes(status))
		details(t, status, "b", "", "configmaps")
		s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: v}").want(200)
		s.eventually("its content is marked", func() bool { return s.get(s.path("configmaps", "a")).meta().DeletionTimestamp != nil })
		s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {finalizers: null}").want(200)
		s.gone("/api/v1/namespaces/" + s.ns)
	}},
	{name: "the default namespace stays", run: func(t T, s *server) {
		s.delete("/api/v1/namespaces/default", "").fails(403, metav1.StatusReasonForbidden, `namespaces "default" is forbidden: this namespace may not be deleted`)
	}},
	{name: "spec.finalizers change through finalize only", run: func(t T, s *server) {
		got := s.patch("/api/v1/namespaces/"+s.ns, mergePatch, "spec: {finalizers: []}").want(200)
		require.Equal(t, []any{"kubernetes"}, got.at("spec", "finalizers"))
		body := fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}, spec: {finalizers: [kubernetes, x.org/z]}}", s.ns)
		got = s.put("/api/v1/namespaces/"+s.ns+"/finalize", body).want(200)
		require.Equal(t, []any{"kubernetes", "x.org/z"}, got.at("spec", "finalizers"))
	}},
	{name: "the name of a namespace is a label", run: func(t T, s *server) {
		s.post("/api/v1/namespaces", "metadata: {name: a.b}").fails(422, metav1.StatusReasonInvalid,
			`Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots`)
	}},
	{name: "namespaces are not deleted as a collection", run: func(t T, s *server) {
		s.delete("/api/v1/namespaces", "").fails(405, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
	}},
})
