package sharedinformer

import (
	"k8s.io/apimachinery/pkg/api/equality"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/conversion"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// isSameVersion reports whether the store had the object that op has written, as its resourceVersion says. It compares
// UIDs, too: a server that was restored from a backup gives out versions again, to other objects.
func isSameVersion[T object](op *storeOp[T]) bool {
	return op.Existed && op.Obj.GetResourceVersion() == op.Old.GetResourceVersion() && op.Obj.GetUID() == op.Old.GetUID()
}

// isSameState compares two objects of one version. They are different if the server was restored from a backup, and has
// given out the version a second time. What cannot be compared, such as fields that are not exported, counts as different.
func isSameState(a, b any) (same bool) {
	defer func() { _ = recover() }() // same stays false
	return equalities.DeepEqualWithNilDifferentFromEmpty(a, b)
}

// equalities compare objects by what they say. Printing a Quantity stores its text in it, and a handler may do so at this
// moment. So a Quantity behind a pointer is compared by its value only.
var equalities = func() conversion.Equalities {
	e := equality.Semantic.Copy()
	utilruntime.Must(e.AddFunc(func(a, b *quantity.Quantity) bool {
		return a == b || a != nil && b != nil && a.Cmp(*b) == 0
	}))
	return e
}()
