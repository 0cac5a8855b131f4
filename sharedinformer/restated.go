package sharedinformer

import (
	"k8s.io/apimachinery/pkg/api/equality"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/conversion"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// isSameState compares two objects of one version. What cannot be compared, such as fields that are not exported,
// counts as different.
func isSameState(a, b any) (same bool) {
	defer func() { _ = recover() }()
	return equalities.DeepEqualWithNilDifferentFromEmpty(a, b)
}

// equalities compare objects by what they say. A Quantity behind a pointer is compared in place: a handler that prints
// it at this moment writes to its text.
var equalities = func() conversion.Equalities {
	e := equality.Semantic.Copy()
	utilruntime.Must(e.AddFunc(func(a, b *quantity.Quantity) bool {
		return a == b || a != nil && b != nil && a.Cmp(*b) == 0
	}))
	return e
}()
