package apiserver

import (
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Options of a Server. The zero value is useful. The defaults are a real server's, or shorter where a real one would
// make a demo wait.
type Options struct {
	// HistoryLimit is the number of changes per resource that a watch can replay, and that a page or an exact list can
	// reach back. Older versions are 410 Expired. 0 means 10,000; negative means none.
	HistoryLimit int
	// BookmarkInterval is the time between bookmarks of an idle watch that allows them. 0 means one minute.
	BookmarkInterval time.Duration
	// GarbageDelay is the time from a change to the next sweep of the garbage collector and the namespace controller. 0
	// means 20 ms.
	GarbageDelay time.Duration
	// FreshnessTimeout is how long a list of a revision that does not exist yet waits before it fails with 504. 0 means
	// three seconds.
	FreshnessTimeout time.Duration
	// MinWatchTimeout: a watch without timeoutSeconds ends after a random time between this and twice as much. 0 means
	// thirty minutes.
	MinWatchTimeout time.Duration
	// PodGrace lets a deleted Pod that runs on a node stay until somebody plays its kubelet, or its grace period is shortened to nothing. As a
	// rule a Pod is deleted at once.
	PodGrace bool
	// DisableShards ignores the shardSelector of lists and watches, as a real server does unless its feature gate
	// ShardedListAndWatch is on.
	DisableShards bool

	// Front makes the handler that Serve serves, from the server's own; nil is that one.
	Front func(http.Handler) http.Handler
	// OnFrame is called before each frame of a watch, and may block. If it returns false, the frame is not sent. nil
	// sends all.
	OnFrame func(Frame) bool
}

// Frame is an event of a watch, which is about to be sent.
type Frame struct {
	Request *http.Request
	Type    watch.EventType
	Object  runtime.Object // as the client asked for it; a Status with an ERROR
	// Flush sends what was written before this frame.
	Flush func() bool
}

func (o Options) withDefaults() Options {
	if o.HistoryLimit == 0 {
		o.HistoryLimit = 10_000
	}
	o.HistoryLimit = max(o.HistoryLimit, 0)
	setDefault(&o.BookmarkInterval, time.Minute)
	setDefault(&o.GarbageDelay, 20*time.Millisecond)
	setDefault(&o.FreshnessTimeout, 3*time.Second)
	setDefault(&o.MinWatchTimeout, 30*time.Minute)
	return o
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}
