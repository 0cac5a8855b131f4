package sharedinformer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer/transform"
)

// Sharing picks the objects that share their parts: strings, slices, maps and what pointers lead to are in memory once, if
// they are equal. It makes no difference to who keeps to the rule that cached objects are only read; who breaks it changes
// other objects, too, and the mutation detector tells of each.
type Sharing uint8

const (
	// SharingDecoded: objects that the ListerWatcher decodes itself, as a [listwatch.Client] does, so that they are nobody
	// else's; and only if no Transform may write into them: see Options.TransformCopiesOnWrite. The default.
	SharingDecoded Sharing = iota
	// SharingAll: others, too, after the Transform. They must be nobody else's: not those of a fake clientset, which gives the
	// same ones to all who watch, and not those of a Transform that shares parts itself, such as [transform.Share]. Of the
	// sources of a MergedInformer only those are shared that SharingDecoded says.
	SharingAll
	// SharingNone: no objects.
	SharingNone
)

// String returns the choice's name.
func (s Sharing) String() string {
	switch s {
	case SharingDecoded:
		return "SharingDecoded"
	case SharingAll:
		return "SharingAll"
	case SharingNone:
		return "SharingNone"
	}
	return fmt.Sprintf("Sharing(%d)", uint8(s))
}

// sharing returns what lists and watches, and what is done to each object then, so that objects share their parts: when they
// are decoded, which is cheaper, or after all else.
func (o *Options[T]) sharing(lw listwatch.ListerWatcher[T]) (listwatch.ListerWatcher[T], func(T) (T, error)) {
	shared, decoded := o.sharingDecoded(lw)
	switch {
	case decoded || o.Sharing != SharingAll:
		return shared, o.Transform
	case o.Transform == nil:
		return lw, transform.Share[T]()
	}
	return lw, transform.Share(o.Transform)
}

// sharingDecoded is sharing for what is decoded; ok is false if lw stays what it is.
func (o *Options[T]) sharingDecoded(lw listwatch.ListerWatcher[T]) (shared listwatch.ListerWatcher[T], ok bool) {
	// The fields of an unstructured object are all in one map, so its transform has none to write into that are its own.
	_, isMap := any(*new(T)).(runtime.Unstructured)
	if o.Sharing == SharingNone || o.Transform != nil && (isMap || !o.TransformCopiesOnWrite) {
		return lw, false
	}
	return listwatch.SharingOf(lw, transform.Share[T]())
}
