// Package keys orders objects by their names, so that lists and tests are alike each time.
package keys

import (
	"cmp"

	"glasswatch/listwatch"
)

// Compare orders keys by namespace and then by name, as slices.SortFunc wants it.
func Compare(a, b listwatch.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// CompareObjects orders objects by their keys.
func CompareObjects[T listwatch.Object](a, b T) int {
	return Compare(listwatch.KeyOf(a), listwatch.KeyOf(b))
}
