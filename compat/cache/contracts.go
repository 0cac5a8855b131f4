package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import clientgo "k8s.io/client-go/tools/cache"

// All names in this file are aliases of client-go's and documented there. So both packages can use the same values.

// Stores and their parts.
type (
	Store                          = clientgo.Store
	Indexer                        = clientgo.Indexer
	ThreadSafeStore                = clientgo.ThreadSafeStore
	ThreadSafeStoreWithTransaction = clientgo.ThreadSafeStoreWithTransaction
	ThreadSafeStoreTransaction     = clientgo.ThreadSafeStoreTransaction
	TransactionStore               = clientgo.TransactionStore
	Transaction                    = clientgo.Transaction
	TransactionType                = clientgo.TransactionType
	TransactionError               = clientgo.TransactionError
	KeyLister                      = clientgo.KeyLister
	KeyGetter                      = clientgo.KeyGetter
	KeyListerGetter                = clientgo.KeyListerGetter
	FakeCustomStore                = clientgo.FakeCustomStore
	UndeltaStore                   = clientgo.UndeltaStore

	IndexFunc = clientgo.IndexFunc
	Indexers  = clientgo.Indexers
	Indices   = clientgo.Indices

	TypedIndexFunc[T any] = clientgo.TypedIndexFunc[T]
	TypedIndexers[T any]  = clientgo.TypedIndexers[T]
	TypedIndexer[T any]   = clientgo.TypedIndexer[T]
)

// The kinds of writes of a transaction.
const (
	TransactionTypeAdd    = clientgo.TransactionTypeAdd
	TransactionTypeUpdate = clientgo.TransactionTypeUpdate
	TransactionTypeDelete = clientgo.TransactionTypeDelete
)

// NamespaceIndex is the name of the index that listers look for.
const NamespaceIndex = clientgo.NamespaceIndex

// Keys.
type (
	KeyFunc     = clientgo.KeyFunc
	KeyError    = clientgo.KeyError
	ExplicitKey = clientgo.ExplicitKey
	ObjectName  = clientgo.ObjectName
)

// Objects that expire, and the overlay of a program's own writes.
type (
	ExpirationPolicy          = clientgo.ExpirationPolicy
	TTLPolicy                 = clientgo.TTLPolicy
	TimestampedEntry          = clientgo.TimestampedEntry
	FakeExpirationPolicy      = clientgo.FakeExpirationPolicy
	MutationCache             = clientgo.MutationCache
	MutationCacheOptions      = clientgo.MutationCacheOptions
	ResourceVersionComparator = clientgo.ResourceVersionComparator
)

// Listers.
type (
	AppendFunc             = clientgo.AppendFunc
	GenericLister          = clientgo.GenericLister
	GenericNamespaceLister = clientgo.GenericNamespaceLister
)

// Queues and the items that they hand out.
type (
	Queue                    = clientgo.Queue
	QueueWithBatch           = clientgo.QueueWithBatch
	PopProcessFunc           = clientgo.PopProcessFunc
	ProcessFunc              = clientgo.ProcessFunc
	ProcessBatchFunc         = clientgo.ProcessBatchFunc
	DeltaFIFOOptions         = clientgo.DeltaFIFOOptions
	RealFIFOOptions          = clientgo.RealFIFOOptions
	TransformFunc            = clientgo.TransformFunc
	Delta                    = clientgo.Delta
	Deltas                   = clientgo.Deltas
	DeltaType                = clientgo.DeltaType
	DeletedFinalStateUnknown = clientgo.DeletedFinalStateUnknown
	ReplacedAllInfo          = clientgo.ReplacedAllInfo
	SyncAllInfo              = clientgo.SyncAllInfo
	BookmarkInfo             = clientgo.BookmarkInfo
	LessFunc                 = clientgo.LessFunc
)

// The types of deltas.
const (
	Added       = clientgo.Added
	Updated     = clientgo.Updated
	Deleted     = clientgo.Deleted
	Replaced    = clientgo.Replaced
	ReplacedAll = clientgo.ReplacedAll
	Sync        = clientgo.Sync
	SyncAll     = clientgo.SyncAll
	Bookmark    = clientgo.Bookmark
)

// The errors of queues are client-go's values, so that errors.Is works for both packages.
var (
	ErrFIFOClosed             = clientgo.ErrFIFOClosed
	ErrZeroLengthDeltasObject = clientgo.ErrZeroLengthDeltasObject
)

// Lists and watches.
type (
	Getter                   = clientgo.Getter
	Lister                   = clientgo.Lister
	ListerWithContext        = clientgo.ListerWithContext
	Watcher                  = clientgo.Watcher
	WatcherWithContext       = clientgo.WatcherWithContext
	ListerWatcher            = clientgo.ListerWatcher
	ListerWatcherWithContext = clientgo.ListerWatcherWithContext
	ListFunc                 = clientgo.ListFunc
	ListWithContextFunc      = clientgo.ListWithContextFunc
	WatchFunc                = clientgo.WatchFunc
	WatchFuncWithContext     = clientgo.WatchFuncWithContext
	ListWatch                = clientgo.ListWatch
)

// The reflector. Watch-error handlers get a Reflector; NewReflector and its variants return a type of this package.
type (
	Reflector                    = clientgo.Reflector
	ReflectorOptions             = clientgo.ReflectorOptions
	ReflectorStore               = clientgo.ReflectorStore
	ReflectorBookmarkStore       = clientgo.ReflectorBookmarkStore
	TransformingStore            = clientgo.TransformingStore
	ResourceVersionUpdater       = clientgo.ResourceVersionUpdater
	WatchErrorHandler            = clientgo.WatchErrorHandler
	WatchErrorHandlerWithContext = clientgo.WatchErrorHandlerWithContext
	VeryShortWatchError          = clientgo.VeryShortWatchError
	RetryWithDeadline            = clientgo.RetryWithDeadline
	ShouldResyncFunc             = clientgo.ShouldResyncFunc
)

// Informers.
type (
	Controller                 = clientgo.Controller
	Config                     = clientgo.Config
	InformerOptions            = clientgo.InformerOptions
	SharedInformer             = clientgo.SharedInformer
	SharedIndexInformer        = clientgo.SharedIndexInformer
	SharedIndexInformerOptions = clientgo.SharedIndexInformerOptions
	InformerSynced             = clientgo.InformerSynced
	DoneChecker                = clientgo.DoneChecker
	SyncResult                 = clientgo.SyncResult
	InformerName               = clientgo.InformerName
	InformerNameAndResource    = clientgo.InformerNameAndResource
	MutationDetector           = clientgo.MutationDetector

	TypedSharedIndexInformer[T Object] = clientgo.TypedSharedIndexInformer[T]
)

// Handlers.
type (
	Object                            = clientgo.Object
	ResourceEventHandler              = clientgo.ResourceEventHandler
	ResourceEventHandlerFuncs         = clientgo.ResourceEventHandlerFuncs
	ResourceEventHandlerDetailedFuncs = clientgo.ResourceEventHandlerDetailedFuncs
	FilteringResourceEventHandler     = clientgo.FilteringResourceEventHandler
	ResourceEventHandlerRegistration  = clientgo.ResourceEventHandlerRegistration
	HandlerOptions                    = clientgo.HandlerOptions

	DeletedObject[T Object]                          = clientgo.DeletedObject[T]
	TypedResourceEventHandler[T Object]              = clientgo.TypedResourceEventHandler[T]
	TypedResourceEventHandlerFuncs[T Object]         = clientgo.TypedResourceEventHandlerFuncs[T]
	TypedResourceEventHandlerDetailedFuncs[T Object] = clientgo.TypedResourceEventHandlerDetailedFuncs[T]
	TypedFilteringResourceEventHandler[T Object]     = clientgo.TypedFilteringResourceEventHandler[T]
)

// Metrics.
type (
	MetricsProvider         = clientgo.MetricsProvider
	InformerMetricsProvider = clientgo.InformerMetricsProvider
	GaugeMetric             = clientgo.GaugeMetric
	CounterMetric           = clientgo.CounterMetric
	SummaryMetric           = clientgo.SummaryMetric
	HistogramMetric         = clientgo.HistogramMetric
)
