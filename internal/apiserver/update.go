package apiserver

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"glasswatch/internal/apiserver/patch"
	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/storage"
)

const optimisticLockMessage = "the object has been modified; please apply your changes to the latest version and try again"

func (r *request) updateOptions() (*metav1.UpdateOptions, error) {
	opts := &metav1.UpdateOptions{}
	if err := r.decodeQuery(opts); err != nil {
		return nil, err
	}
	if errs := metav1validation.ValidateUpdateOptions(opts); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "UpdateOptions"}, "", errs)
	}
	return opts, nil
}

func (r *request) update(w http.ResponseWriter) error {
	opts, err := r.updateOptions()
	if err != nil {
		return err
	}
	obj, err := r.decode(opts.FieldValidation)
	if err != nil {
		return err
	}
	if err := r.checkName(obj); err != nil {
		return err
	}
	wo := writeOptions{patch.ManagerName(opts.FieldManager, r.http.UserAgent()), len(opts.DryRun) > 0}
	replacement := func(current resource.Object) (resource.Object, error) {
		if current == nil && obj.GetUID() != "" {
			return nil, r.wrongUID(obj.GetUID(), "")
		}
		return obj.DeepCopyObject().(resource.Object), nil
	}
	code := http.StatusOK
	out, err := r.modify(wo, replacement, true)
	if apierrors.IsNotFound(err) && r.target.subresource == "" && r.createdByUpdates() {
		code = http.StatusCreated
		out, err = r.createMissing(wo, replacement, true)
	}
	if err != nil {
		return err
	}
	return r.write(w, code, out)
}

func (r *request) patchRequest() (patch.Request, error) {
	opts := &metav1.PatchOptions{}
	if err := r.decodeQuery(opts); err != nil {
		return patch.Request{}, err
	}
	body, err := r.body()
	if err != nil {
		return patch.Request{}, err
	}
	contentType, _, _ := mime.ParseMediaType(r.http.Header.Get("Content-Type"))
	return patch.Request{
		Type: types.PatchType(contentType), Body: body,
		Name: r.target.name, Namespace: r.target.namespace,
		FieldManager: opts.FieldManager, UserAgent: r.http.UserAgent(),
		Force: opts.Force, FieldValidation: opts.FieldValidation, DryRun: opts.DryRun,
	}, nil
}

func (r *request) patch(w http.ResponseWriter) error {
	req, err := r.patchRequest()
	if err != nil {
		return err
	}
	wo := writeOptions{dryRun: len(req.DryRun) > 0}
	var warnings []string
	apply := func(current resource.Object) (resource.Object, error) {
		out, said, err := r.applyPatch(current, req)
		warnings = said
		return out, err
	}
	code := http.StatusOK
	out, err := r.modify(wo, apply, false)
	if req.Type == types.ApplyPatchType && apierrors.IsNotFound(err) && r.target.subresource == "" {
		code = http.StatusCreated
		out, err = r.createMissing(wo, apply, false)
	}
	if err != nil {
		return err
	}
	r.warn(warnings)
	return r.write(w, code, out)
}

// applyPatch returns what the stored object, or nil, becomes.
func (r *request) applyPatch(current resource.Object, req patch.Request) (resource.Object, []string, error) {
	var live runtime.Object
	if current != nil {
		live = r.served(current)
	}
	out, warnings, err := r.patcher().Patch(live, req)
	if err != nil {
		return nil, nil, err
	}
	if u, ok := out.(*unstructured.Unstructured); ok {
		wholeNumbers(u.Object)
	}
	return out.(resource.Object), warnings, nil
}

// createMissing creates what modify did not find. change gets nil.
func (r *request) createMissing(opts writeOptions, change func(resource.Object) (resource.Object, error), track bool) (resource.Object, error) {
	obj, err := change(nil)
	if err != nil {
		return nil, err
	}
	out, err := r.createObject(obj, opts, track)
	if apierrors.IsAlreadyExists(err) { // another writer created it first, so it is an update
		return r.modify(opts, change, track)
	}
	return out, err
}

// modify replaces the URL's object by the result of change. It retries after a conflict, unless the client gave a
// resourceVersion. change gets the stored object and returns one of its own in the served version. track says whether
// managedFields are yet to be written.
func (r *request) modify(opts writeOptions, change func(resource.Object) (resource.Object, error), track bool) (resource.Object, error) {
	for {
		current, err := r.current()
		if err != nil {
			return nil, err
		}
		obj, err := change(current)
		if err != nil {
			return nil, err
		}
		if err := r.placeIn(obj); err != nil {
			return nil, err
		}
		out, err := r.replace(current, obj, opts, track)
		if !errors.Is(err, storage.ErrConflict) {
			return out, err
		}
	}
}

// replace puts obj in place of current. storage.ErrConflict means that current is outdated.
func (r *request) replace(current, obj resource.Object, opts writeOptions, track bool) (resource.Object, error) {
	if err := r.checkPreconditions(current, obj); err != nil {
		return nil, err
	}
	if r.table == servicesResource {
		r.server.addresses.mu.Lock()
		defer r.server.addresses.mu.Unlock()
	}
	live := r.served(current)
	obj, err := r.prepareForUpdate(obj, live)
	if err != nil {
		return nil, err
	}
	if errs := r.validate(obj, live); len(errs) > 0 {
		return nil, apierrors.NewInvalid(r.GVK.GroupKind(), obj.GetName(), errs)
	}
	if track {
		obj = r.patcher().Track(live, obj, opts.manager).(resource.Object)
	}
	sameAsServed := unchanged(live, obj)
	next := r.endpoint.stored(obj)
	// What this version lacks, or has as a default, may still differ from what is stored.
	if sameAsServed && equality.Semantic.DeepEqual(current, next) {
		if r.server.store.Get(r.table, r.key()) != current {
			return nil, storage.ErrConflict
		}
		return current, nil
	}
	if r.Generation && r.target.subresource != "status" && specChanged(live, obj) {
		next.SetGeneration(current.GetGeneration() + 1)
	}
	obj = next
	if opts.dryRun {
		return obj, nil
	}
	if current.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && !inGrace(obj) && r.server.mayVanish(obj) {
		return obj, r.server.remove(r.endpoint, current, obj)
	}
	if err := r.server.store.Update(r.table, r.key(), current, obj); err != nil {
		return nil, err
	}
	r.server.addresses.note(obj)
	r.server.written(r.endpoint, current, obj)
	return obj, nil
}

func (r *request) checkPreconditions(current, obj resource.Object) error {
	// of a patch, another uid is not a precondition but a change of an immutable field, which validation refuses
	if r.verb == "update" && !sameUID(obj.GetUID(), current.GetUID()) {
		return r.wrongUID(obj.GetUID(), current.GetUID())
	}
	switch rv := obj.GetResourceVersion(); {
	case rv == "" || rv == "0":
		if r.Custom != nil || r.conditionalOnly() {
			kind := schema.GroupKind{Group: r.GVR.Group, Kind: r.GVR.Resource}
			return apierrors.NewInvalid(kind, r.target.name, field.ErrorList{
				field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
		}
		obj.SetResourceVersion(current.GetResourceVersion())
	case rv != current.GetResourceVersion():
		if _, err := strconv.ParseUint(rv, 10, 64); err != nil {
			return err
		}
		return apierrors.NewConflict(r.groupResource(), r.target.name, errors.New(optimisticLockMessage))
	}
	return nil
}

func (r *request) wrongUID(want, have types.UID) error {
	return apierrors.NewConflict(r.groupResource(), r.target.name,
		//lint:ignore ST1005 these are the words of a real server
		fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", want, have))
}

// prepareForUpdate keeps the parts that this kind of write cannot change.
func (r *request) prepareForUpdate(obj, live resource.Object) (resource.Object, error) {
	switch {
	case r.target.subresource == "status":
		obj = withStatusOf(live, obj, r.Custom != nil)
	case r.target.subresource == "finalize":
		obj = withSpecOf(live, obj)
	case r.table == namespacesResource:
		copyStatus(obj, live)
		keepFinalizers(obj, live)
	case r.endpoint.Status:
		copyStatus(obj, live)
	}
	if obj.GetUID() == "" {
		obj.SetUID(live.GetUID())
	}
	obj.SetGeneration(live.GetGeneration())
	obj.SetCreationTimestamp(live.GetCreationTimestamp())
	obj.SetDeletionTimestamp(live.GetDeletionTimestamp())
	obj.SetDeletionGracePeriodSeconds(live.GetDeletionGracePeriodSeconds())
	obj.SetSelfLink("")
	return obj, r.server.prepareForUpdate(obj, live)
}

func (r *request) checkName(obj resource.Object) error {
	switch {
	case obj.GetName() == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", r.target.name))
	case obj.GetName() != r.target.name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), r.target.name))
	case r.target.namespace != "" && obj.GetNamespace() != "" && obj.GetNamespace() != r.target.namespace:
		return errNamespaceMismatch()
	}
	return nil
}

// unchanged tells whether writing obj would change nothing but the times at which managers last wrote.
func unchanged(live, obj resource.Object) bool {
	old, updated := live.GetManagedFields(), obj.GetManagedFields()
	if len(old) != len(updated) {
		return false
	}
	for i := range old {
		a, b := old[i], updated[i]
		a.Time, b.Time = nil, nil
		if !equality.Semantic.DeepEqual(a, b) {
			return false
		}
	}
	obj.SetManagedFields(old)
	if equality.Semantic.DeepEqual(live, obj) {
		return true
	}
	obj.SetManagedFields(updated)
	return false
}
