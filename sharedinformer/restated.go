package sharedinformer

import (
	"k8s.io/apimachinery/pkg/api/equality"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// mayRestate reports whether a list may show another state under a version that the store knows. Only a server that was
// set back gives a version out again, and then its list is not newer than the store.
func mayRestate(listed, stored string) bool {
	order, err := resourceversion.CompareResourceVersion(listed, stored)
	return err == nil && order <= 0
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

// isSameState compares two objects of one version. What cannot be compared, such as fields that are not exported,
// counts as different.
func isSameState(a, b any) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return equalities.DeepEqualWithNilDifferentFromEmpty(a, b)
}
