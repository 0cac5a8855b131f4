package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"

	"glasswatch/internal/apiserver/patch"
	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/storage"
)

// writeOptions has the common options of creations, updates and patches.
type writeOptions struct {
	manager string
	dryRun  bool
}

func (r *request) create(w http.ResponseWriter) error {
	opts := &metav1.CreateOptions{}
	if err := r.decodeQuery(opts); err != nil {
		return err
	}
	if errs := metav1validation.ValidateCreateOptions(opts); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "CreateOptions"}, "", errs)
	}
	obj, err := r.decode(opts.FieldValidation)
	if err != nil {
		return err
	}
	if obj.GetResourceVersion() != "" {
		return errors.New("resourceVersion should not be set on objects to be created")
	}
	out, err := r.createObject(obj, writeOptions{patch.ManagerName(opts.FieldManager, r.http.UserAgent()), len(opts.DryRun) > 0}, true)
	if err != nil {
		return err
	}
	return r.write(w, http.StatusCreated, out)
}

// generateAttempts is how often a taken generated name is replaced by another.
const generateAttempts = 8

// createObject makes obj, in the served version, a stored object. track says whether its managedFields are yet to be
// written. obj is used up.
func (r *request) createObject(obj resource.Object, opts writeOptions, track bool) (resource.Object, error) {
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	for attempt := 1; ; attempt++ {
		candidate := obj
		if generated {
			candidate = obj.DeepCopyObject().(resource.Object)
			candidate.SetName(generateName(obj.GetGenerateName()))
		}
		out, err := r.createOnce(candidate, opts, track)
		switch {
		case err == nil || !apierrors.IsAlreadyExists(err) || !generated:
			return out, err
		case attempt == generateAttempts:
			return nil, apierrors.NewGenerateNameConflict(r.groupResource(), candidate.GetName(), 1)
		}
	}
}

func generateName(base string) string {
	const maxLength, random = 63, 5
	if len(base) > maxLength-random {
		base = base[:maxLength-random]
	}
	return base + utilrand.String(random)
}

func (r *request) createOnce(obj resource.Object, opts writeOptions, track bool) (resource.Object, error) {
	if err := r.placeIn(obj); err != nil {
		return nil, err
	}
	if track { // before the server sets fields without an owner, such as addresses
		obj = r.main.Track(nil, obj, opts.manager).(resource.Object)
	}
	obj.SetUID(uuid.NewUUID())
	obj.SetCreationTimestamp(now())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	obj.SetResourceVersion("")
	if r.Generation {
		obj.SetGeneration(1)
	}
	if r.endpoint.Status {
		clearStatus(obj)
	}
	if r.table == servicesResource {
		r.server.addresses.mu.Lock()
		defer r.server.addresses.mu.Unlock()
	}
	if err := r.server.prepareForCreate(obj); err != nil {
		return nil, err
	}
	if errs := r.validate(obj, nil); len(errs) > 0 {
		return nil, apierrors.NewInvalid(r.GVK.GroupKind(), obj.GetName(), errs)
	}
	return r.commitNew(obj, opts.dryRun)
}

func (r *request) commitNew(obj resource.Object, dryRun bool) (resource.Object, error) {
	r.server.namespaces.RLock()
	defer r.server.namespaces.RUnlock()
	if err := r.namespaceTakes(obj); err != nil {
		return nil, err
	}
	if err := r.definitionTakes(); err != nil {
		return nil, err
	}
	obj = r.endpoint.stored(obj)
	key := keyOf(obj.GetNamespace(), obj.GetName())
	err := storage.ErrExists
	if existing := r.server.store.Get(r.table, key); existing == nil && dryRun {
		return obj, nil
	} else if existing == nil {
		err = r.server.store.Create(r.table, key, obj)
	}
	if errors.Is(err, storage.ErrExists) {
		taken := apierrors.NewAlreadyExists(r.groupResource(), obj.GetName())
		if old := r.server.store.Get(r.table, key); old != nil && old.GetDeletionTimestamp() != nil {
			taken.ErrStatus.Message = "object is being deleted: " + taken.ErrStatus.Message
		}
		return nil, taken
	}
	if err == nil {
		r.server.addresses.note(obj)
		r.server.written(r.endpoint, nil, obj)
	}
	return obj, err
}

// placeIn gives obj the namespace of the request.
func (r *request) placeIn(obj resource.Object) error {
	switch {
	case obj.GetNamespace() == "":
		obj.SetNamespace(r.target.namespace)
	case obj.GetNamespace() != r.target.namespace && !r.Namespaced:
		return apierrors.NewBadRequest("namespace must not be set on a cluster-scoped object")
	case obj.GetNamespace() != r.target.namespace:
		return errNamespaceMismatch()
	}
	return nil
}

func errNamespaceMismatch() error {
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// namespaceTakes refuses creations in namespaces that are missing or going away. Call it with s.namespaces held.
func (r *request) namespaceTakes(obj resource.Object) error {
	if !r.Namespaced {
		return nil
	}
	name := obj.GetNamespace()
	ns, _ := r.server.store.Get(namespacesResource, name).(*corev1.Namespace)
	switch {
	case ns == nil:
		return apierrors.NewNotFound(namespacesResource, name)
	case ns.DeletionTimestamp == nil && ns.Status.Phase != corev1.NamespaceTerminating:
		return nil
	}
	err := apierrors.NewForbidden(r.groupResource(), obj.GetName(),
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", name))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", name),
		Field:   "metadata.namespace",
	})
	return err
}

// decode reads the body in the served version.
func (r *request) decode(fieldValidation string) (resource.Object, error) {
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	contentType := r.http.Header.Get("Content-Type")
	if r.Custom == nil && strings.HasPrefix(contentType, protobufType) {
		return r.decodeProtobuf(body)
	}
	obj, warnings, err := r.patcher().Decode(body, contentType, fieldValidation)
	if err != nil {
		return nil, err
	}
	r.warn(warnings)
	return obj.(resource.Object), nil
}

const protobufType = "application/vnd.kubernetes.protobuf"

func (r *request) decodeProtobuf(body []byte) (resource.Object, error) {
	decoded, gvk, err := serializerFor(protobufType).Serializer.Decode(body, &r.GVK, r.New())
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v", r.GVK.Kind, err))
	}
	obj, ok := decoded.(resource.Object)
	if !ok || *gvk != r.GVK {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", gvk.Kind, gvk.Version, r.GVK.Kind))
	}
	obj.GetObjectKind().SetGroupVersionKind(r.GVK)
	applyDefaults(obj)
	return obj, nil
}

// sameUID tells whether a precondition on the uid holds; an empty one does.
func sameUID(want, have types.UID) bool { return want == "" || want == have }
