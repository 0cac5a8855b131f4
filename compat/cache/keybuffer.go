package cache

import (
	"reflect"
	"sync"
	"unsafe"

	clientgo "k8s.io/client-go/tools/cache"
)

// maxKey is the greatest size, in bytes, of a buffer that is kept.
const maxKey = 1 << 10

// keyBuffers hold the keys of updates. A store looks up an update's key and keeps its own copy. So a key need not be
// allocated.
var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// isMetaNamespaceKeyFunc recognises the key functions of most stores, this package's or client-go's. None is generic,
// so each has its own code.
func isMetaNamespaceKeyFunc(f KeyFunc) bool {
	code := reflect.ValueOf(f).Pointer()
	for _, known := range []KeyFunc{
		MetaNamespaceKeyFunc, DeletionHandlingMetaNamespaceKeyFunc,
		clientgo.MetaNamespaceKeyFunc, clientgo.DeletionHandlingMetaNamespaceKeyFunc,
	} {
		if code == reflect.ValueOf(known).Pointer() {
			return true
		}
	}
	return false
}

// metaNamespaceKeyIn makes the key of an object with metadata in buffer. Tombstones and ExplicitKeys are left to the
// key function.
func metaNamespaceKeyIn(obj any, buffer *[]byte) (key string, ok bool) {
	name, err := ObjectToName(obj)
	if err != nil {
		return "", false
	}
	if name.Namespace == "" {
		return name.Name, true
	}
	b := append((*buffer)[:0], name.Namespace...)
	b = append(b, '/')
	b = append(b, name.Name...)
	if cap(b) <= maxKey {
		*buffer = b
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), true
}
