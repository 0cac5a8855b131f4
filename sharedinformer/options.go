package sharedinformer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/observe"
	"glasswatch/reflector"
)

// Options of an Informer. The zero value is useful.
type Options[T listwatch.Object] struct {
	// Name is for errors, logs and metrics; by default the name of T.
	Name string
	// Resource is what a lister's NotFound errors name; by default the plural of T's name.
	Resource schema.GroupResource
	// ResyncPeriod is the default of handlers; 0: no handler is resynced. See "Resync" in the package's doc.
	ResyncPeriod time.Duration
	// Indexers are added to the store beside the index by namespace.
	Indexers indexer.Indexers[T]
	// Transform is called once for each version of an object that comes, a deletion's included, before anything else
	// sees it. It may modify the object or return another. Namespace, name, uid and resourceVersion must stay. If it
	// fails, the last good version stays. If a decoder shares parts of objects (glasswatch/listwatch/memo), Transform
	// must replace nested maps, slices and pointers, not write into them.
	Transform func(obj T) (T, error)
	// WatchErrorHandler is told of every failed list or watch, from the reflector's goroutine. nil logs.
	WatchErrorHandler func(ctx context.Context, err error)
	// OnObjectError is told of every object that could not be read, transformed or indexed. It is called with no lock
	// held, from any goroutine. nil logs. The errors are counted in either case.
	OnObjectError func(key listwatch.Key, err error)
	// Queue is InOrder by default.
	Queue QueueKind
	// Metrics are called as things happen. Stats tell the same when asked.
	Metrics Metrics
	// Reflector tunes lists and watches. Its Name and OnError are the informer's and ignored.
	Reflector reflector.Options

	// The rest is for what is built around an informer. Simple informers do not use Observe, Feed and SyncGate.

	// Observe, if not nil, is told of each batch and of each call of a handler. It may keep the slice. It may block: that
	// holds up the goroutine that called it, and what waits for its locks. Calls of a handler are reported from the
	// handler's goroutine with no lock held, batches from the consumer's with the informer's mutex held, and with PerKey the
	// queue's lock. So an observer that is told of a batch must not call the informer, except for its store.
	Observe func([]observe.Observation[listwatch.Key])
	// Feed, if not nil, makes what fills the queue in place of a reflector. New calls it once, with its ListerWatcher and
	// the options that the reflector would get: those above, with the informer's Name and OnError.
	Feed func(lw listwatch.ListerWatcher[T], queue Queue[T], opts reflector.Options) Feeder
	// VersionsByBookmark: the store's resourceVersion moves with lists and bookmarks only. It is for a Feed that mixes
	// the events of several watches: the version of one event says nothing of the others.
	VersionsByBookmark bool
	// SyncGate, if not nil, holds up Synced until it is closed. All adds until then are of the initial list.
	SyncGate <-chan struct{}
	// BeforeStore is told, in order, of each object before it is written to the store. For a deletion obj is nil, even if
	// the store lacks the key. It is called with the informer's mutex held, must be fast and must not call the informer.
	BeforeStore func(key listwatch.Key, obj listwatch.Object)
}

// Metrics are hooks for gauges and histograms that must be fed, such as those of client-go's InformerMetricsProvider.
// Each may be nil, must be fast, and must not call the informer.
type Metrics struct {
	// Queued is told how much waits between the reflector and the store, each time that it changes. Processed is told
	// how long it took to take a batch over. See [deltafifo.Metrics].
	Queued    func(n int)
	Processed func(took time.Duration)
	// StoreResourceVersion is told, from the consumer's goroutine, what version the store has reached. It is not called
	// with the per-key queue.
	StoreResourceVersion func(resourceVersion string)
}

// NoResync as a handler's resync period means that it wants none, whatever the informer's default is.
const NoResync time.Duration = -1

// HandlerOptions say how a handler is served. The zero value gives it every change, without a bound.
type HandlerOptions struct {
	// Name is for errors, logs and metrics; by default "handler". If another handler of the informer has it, a number
	// is appended.
	Name string
	// ResyncPeriod is how often the handler is given every object again, as an update; 0 is the informer's default,
	// NoResync is never. Less than a second counts as a second. An informer without a resync period gives none at all.
	// On one that runs, less than its check period counts as the check period: see "Resync" in the package's doc.
	ResyncPeriod time.Duration
	// Fold merges the changes of one object that wait for the handler into one. See "Folding" in the package's doc.
	Fold bool
	// MaxBacklog bounds the changes that wait for the handler, the one that it is at included, without initial adds. One
	// more removes the handler: its Done closes and Err returns ErrBacklog. 0 is no bound.
	//
	// With InOrder up to 1000 events, or a whole resync or relist, come as one batch. A batch that is longer than the
	// bound removes even an idle handler; with Fold, a batch about more objects than the bound. While a handler that folds
	// is told that an object was replaced, the deletion and the add count as two changes.
	MaxBacklog int
	// Context is given to utilruntime's panic handlers if the handler panics: its logger is the one they log to. By
	// default it is that of the informer's Run.
	Context context.Context
}
