package cache

import (
	"reflect"
	"sync"
	"unsafe"

	clientgo "k8s.io/client-go/tools/cache"
)

// maxKey is how many bytes a buffer may have that is kept.
const maxKey = 1 << 10

// keyBuffers are where the keys of updates are made. A store needs the key of an object that it has to find it, and keeps the one
// it has: so each update would make a string for nothing.
var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// isMetaNamespaceKeyFunc finds the key functions that nearly every store has, this package's or client-go's. None is generic, so each
// has its code for itself.
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

// metaNamespaceKeyIn makes the key of an object with metadata in buffer. It leaves to the key function what stands for an object.
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
