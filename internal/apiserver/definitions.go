package apiserver

import (
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/crd"
	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/storage"
)

// A CustomResourceDefinition goes through these steps:
//
//	created ─▶ names accepted, Established ─▶ served ─▶ deleted: Terminating, cleanup finalizer
//	                                                       └▶ no creations; the janitor deletes the objects
//	                                                           └▶ the last is gone: finalizer off, not served any more
//
// The first two happen within the request that wrote the definition, so that its sender can use the resource at once.

// definitionWritten brings the status of all definitions and the list of what is served up to date.
func (s *Server) definitionWritten() {
	s.definitions.Lock()
	defer s.definitions.Unlock()
	for {
		defs := s.storedDefinitions()
		if s.acceptAll(defs) {
			s.serveDefinitions(defs)
			return
		}
	}
}

func (s *Server) storedDefinitions() []*apiextensionsv1.CustomResourceDefinition {
	tree, _, err := s.store.Snapshot(crdResource, 0)
	if err != nil {
		return nil
	}
	var defs []*apiextensionsv1.CustomResourceDefinition
	for _, obj := range tree.Range("", "") {
		defs = append(defs, obj.(*apiextensionsv1.CustomResourceDefinition))
	}
	return defs
}

// acceptAll tells whether all statuses were up to date; if not, it wrote one, or one changed meanwhile.
func (s *Server) acceptAll(defs []*apiextensionsv1.CustomResourceDefinition) bool {
	for _, def := range defs {
		if def.DeletionTimestamp != nil {
			continue
		}
		accepted := def.DeepCopy()
		if crd.Accept(accepted, defs) {
			_ = s.store.Update(crdResource, def.Name, def, accepted) // after a conflict it starts over as well
			return false
		}
	}
	return true
}

// serveDefinitions replaces the custom resources. Endpoints whose definition did not change are kept.
func (s *Server) serveDefinitions(defs []*apiextensionsv1.CustomResourceDefinition) {
	known := map[string][]*endpoint{}
	for _, ep := range s.registry.customEndpoints() {
		known[ep.definition] = append(known[ep.definition], ep)
	}
	var custom []*endpoint
	served := map[schema.GroupResource]bool{}
	for _, def := range defs {
		if !crd.Established(def) {
			continue
		}
		served[definedResource(def)] = true
		id := fmt.Sprintf("%s/%d/%v", def.UID, def.Generation, def.Status.AcceptedNames)
		if known[id] == nil {
			known[id] = customEndpoints(def, id)
		}
		custom = append(custom, known[id]...)
	}
	gone := map[schema.GroupResource]bool{}
	before := s.registry.customEndpoints()
	s.registry.setCustom(custom)
	s.describe()
	for _, ep := range before {
		gone[ep.table] = !served[ep.table]
		if !slices.Contains(custom, ep) {
			close(ep.retired) // its watches end, so that clients watch by the schema of today
		}
	}
	for gr, isGone := range gone {
		if isGone {
			s.store.Drop(gr)
		}
	}
}

func customEndpoints(def *apiextensionsv1.CustomResourceDefinition, id string) []*endpoint {
	infos, err := crd.Build(def)
	if err != nil {
		return nil // validation accepts only schemas that can be built
	}
	byAPIVersion := map[string]*resource.Info{}
	for _, info := range infos {
		byAPIVersion[info.APIVersion()] = info
	}
	storage := infos[crd.StorageVersion(def)]
	isFirst := def.Generation == 1 // so objects were pruned, and got their defaults, by the schema of today
	var out []*endpoint
	for _, v := range def.Spec.Versions {
		if !v.Served {
			continue
		}
		info := infos[v.Name]
		ep := newEndpoint(info)
		ep.definition, ep.retired = id, make(chan struct{})
		ep.served = func(obj resource.Object) resource.Object {
			version := apiVersionOf(obj)
			if from := byAPIVersion[version]; from != nil && !isFirst { // nil: the definition has dropped it
				obj = readBack(obj, from)
			}
			if version == info.APIVersion() {
				return obj
			}
			return inVersion(obj, info)
		}
		ep.stored = func(obj resource.Object) resource.Object {
			if apiVersionOf(obj) == storage.APIVersion() {
				return obj
			}
			return inVersion(obj, storage)
		}
		out = append(out, ep)
	}
	return out
}

func definedResource(def *apiextensionsv1.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: def.Spec.Group, Resource: def.Spec.Names.Plural}
}

// definitionTakes refuses creations of objects whose definition is going away. Call it with s.namespaces held.
func (r *request) definitionTakes() error {
	if r.Custom == nil {
		return nil
	}
	def := r.server.store.Get(crdResource, r.table.Resource+"."+r.table.Group)
	if def != nil && def.GetDeletionTimestamp() == nil {
		return nil
	}
	err := apierrors.NewMethodNotSupported(r.groupResource(), "create")
	err.ErrStatus.Message = "create not allowed while custom resource definition is terminating"
	return err
}

// terminateDefinition prepares a definition that is being deleted for the deletion of its objects. It tells whether obj is one.
func terminateDefinition(obj resource.Object) bool {
	def, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return false
	}
	def.Status.Conditions = append(slices.Clone(def.Status.Conditions), apiextensionsv1.CustomResourceDefinitionCondition{
		Type:               apiextensionsv1.Terminating,
		Status:             apiextensionsv1.ConditionTrue,
		LastTransitionTime: now(),
		Reason:             "InstanceDeletionPending",
		Message:            "CustomResourceDefinition marked for deletion; CustomResource deletion will be initiated as soon as possible",
	})
	return true
}

// removeDefinitions deletes the objects of terminating definitions, and removes definitions without objects.
func (s *Server) removeDefinitions() {
	ep := s.registry.find(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	for _, def := range s.storedDefinitions() {
		if def.DeletionTimestamp == nil || !slices.Contains(def.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
			continue
		}
		s.namespaces.Lock() // no creation is between its check and its write
		if s.withoutObjects(def) {
			s.dropFinalizer(ep, def, apiextensionsv1.CustomResourceCleanupFinalizer)
		}
		s.namespaces.Unlock()
	}
}

// withoutObjects deletes the objects of a definition and tells whether there were none.
func (s *Server) withoutObjects(def *apiextensionsv1.CustomResourceDefinition) bool {
	gr := definedResource(def)
	tree, _, err := s.store.Snapshot(gr, 0)
	if err != nil || tree.Len() == 0 {
		return err == nil
	}
	ep := s.registry.findKind(schema.GroupKind{Group: def.Spec.Group, Kind: def.Spec.Names.Kind})
	if ep == nil {
		return false
	}
	background := metav1.DeletePropagationBackground
	for _, obj := range tree.Range("", "") {
		if obj.GetDeletionTimestamp() != nil {
			continue
		}
		_, _, err := s.deleteObject(ep, obj, &metav1.DeleteOptions{PropagationPolicy: &background})
		if errors.Is(err, storage.ErrConflict) {
			s.sweepSoon()
		}
	}
	return false
}
