package patch

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Track returns obj with the managedFields that a create (nil live object) or an update by manager leads to. It takes
// over obj. Call it after all changes of the write, except those that the store makes. uid, resourceVersion,
// creationTimestamp, generation and selfLink have no owner.
func (p *Patcher) Track(live, obj runtime.Object, manager string) runtime.Object {
	fields, err := p.manager()
	if err != nil {
		return obj
	}
	obj.GetObjectKind().SetGroupVersionKind(p.kind.GVK)
	if live == nil {
		return track(fields, p.kind.empty(), obj, manager)
	}
	before := p.copyOf(live)
	obj = track(fields, p.copyOf(live), obj, manager)
	keepTimestamps(before, obj)
	return obj
}

// track keeps live's managedFields if obj does not fit its schema. A custom resource comes here before validation,
// which will refuse it.
func track(fields *managedfields.FieldManager, live, obj runtime.Object, manager string) runtime.Object {
	out, err := fields.Update(live, obj, manager)
	if err == nil {
		return out
	}
	if from, err := meta.Accessor(live); err == nil {
		if to, err := meta.Accessor(obj); err == nil {
			to.SetManagedFields(from.GetManagedFields())
		}
	}
	return obj
}

// ManagerName is the manager of a request: its fieldManager parameter, else the program's name in its user agent, cut
// to 128 printable bytes.
func ManagerName(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	program, _, _ := strings.Cut(userAgent, "/")
	var out strings.Builder
	for _, r := range program {
		if !unicode.IsPrint(r) {
			continue
		}
		if out.Len()+utf8.RuneLen(r) > metav1validation.FieldManagerMaxLength {
			break
		}
		out.WriteRune(r)
	}
	return out.String()
}

// keepTimestamps gives obj the managedFields of live if nothing but their timestamps differs. Otherwise every
// write that changes nothing would be a change.
func keepTimestamps(live, obj runtime.Object) {
	a, err := meta.Accessor(live)
	if err != nil {
		return
	}
	b, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	old, now := a.GetManagedFields(), b.GetManagedFields()
	if len(old) != len(now) || !equality.Semantic.DeepEqual(withoutTimes(old), withoutTimes(now)) {
		return
	}
	b.SetManagedFields(old)
	if !equality.Semantic.DeepEqual(live, obj) {
		b.SetManagedFields(now)
	}
}

func withoutTimes(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	out := make([]metav1.ManagedFieldsEntry, len(entries))
	for i, e := range entries {
		e.Time = nil
		out[i] = e
	}
	return out
}
