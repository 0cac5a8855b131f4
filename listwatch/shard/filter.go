package shard

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Filter drops what a server sends though it is not selected. Its feature gate may be off, as it is by default,
// or several servers may differ; a streaming list does not tell.
type Filter struct {
	Selector
	// OnForeign is told of each object that is dropped; may be nil.
	OnForeign func()
}

// foreignLogged is one for all filters: a program makes many, and the line is about the server.
var foreignLogged sync.Once

// Drops reports whether obj is to be dropped. The first time in a process, it writes a line into the log.
func (f *Filter) Drops(obj metav1.Object) bool {
	if f.Matches(obj) {
		return false
	}
	foreignLogged.Do(func() {
		klog.InfoS("The server sends objects of other shards, and they are dropped here: "+
			"it needs the feature gate ShardedListAndWatch", "shard", f.Selector)
	})
	if f.OnForeign != nil {
		f.OnForeign()
	}
	return true
}
