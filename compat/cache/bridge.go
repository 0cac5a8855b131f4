package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	"k8s.io/client-go/util/watchlist"

	"glasswatch/listwatch"
)

// object is the layers' object type here: anything that a ListerWatcher of client-go returns.
type object = listwatch.Object

var (
	errNoList  = errors.New("the list function returned neither a list nor an error")
	errNoWatch = errors.New("the watch function returned neither a watch nor an error")
)

// bridge lets the layers list and watch through a ListerWatcher of client-go. Such a one promises less than a real
// server: lists may lack a resourceVersion, objects may lack a name, and contexts may be ignored.
type bridge struct {
	lw       ListerWatcherWithContext
	expected reflect.Type             // nil: any
	gvk      *schema.GroupVersionKind // of unstructured objects; nil: any
	what     string                   // describes expected, for people

	// native, if not nil, decodes the answers of the server.
	native *listwatch.Client[object]

	// early, if not nil, transforms initial events.
	early *earlyTransform

	// interrupt, if not nil, has an error to end a watch with, but not a list.
	interrupt <-chan error

	// beforeNext is called, if not nil, each time the next event of a watch is asked for.
	beforeNext func()
}

func newBridge(lw ListerWatcher, example any, what string) *bridge {
	b := &bridge{lw: ToListerWatcherWithContext(lw), expected: reflect.TypeOf(example), what: what}
	if u, ok := example.(*unstructured.Unstructured); ok && u != nil {
		if gvk := u.GroupVersionKind(); !gvk.Empty() {
			b.gvk = &gvk
		}
	}
	if what == "" {
		b.what = describeType(b.expected, b.gvk)
	}
	return b
}

func describeType(expected reflect.Type, gvk *schema.GroupVersionKind) string {
	switch {
	case gvk != nil:
		return gvk.String()
	case expected != nil:
		return expected.String()
	}
	return "<unspecified>"
}

// canStreamLists is true if both the gate WatchListClient and the client behind lw allow streaming lists.
func canStreamLists(lw ListerWatcher) bool {
	return features.FeatureGates().Enabled(features.WatchListClient) && !watchlist.DoesClientNotSupportWatchListSemantics(lw)
}

// requestKind distinguishes the requests whose errors client-go's reflector reports in different ways.
type requestKind uint8

const (
	listRequest    requestKind = iota // of the latest version
	versionRequest                    // a list of any or of a known version
	watchRequest
	streamRequest // a streaming list
)

// requestError is the ListerWatcher's error for a refused request.
type requestError struct {
	kind requestKind
	err  error
}

func (e *requestError) Error() string { return e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

// List implements listwatch.ListerWatcher.
func (b *bridge) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[object], error) {
	ask := b.list
	if b.native != nil {
		ask = b.listUndecoded
	}
	if b.early != nil && opts.Continue == "" {
		b.early.begins()
	}
	asked := opts.Continue
	opts.Continue = strings.TrimSuffix(asked, repeated)
	list, err := ask(ctx, opts)
	if err == nil && asked != "" && list.Continue == opts.Continue {
		err = repeat(list, asked)
	}
	if err == nil && b.early != nil {
		err = b.early.page(list)
	}
	if err != nil {
		kind := listRequest
		if opts.ResourceVersion != "" {
			kind = versionRequest
		}
		return nil, &requestError{kind, err}
	}
	return list, nil
}

// repeated marks a continue token that is the same as the one before it: listwatch.ListAll wants them to differ.
const repeated = "\x00"

// repeat prepares a page whose continue token is the one that it was asked for with, but for the mark.
func repeat(page *listwatch.List[object], asked string) error {
	if len(page.Items)+len(page.Bad) == 0 {
		return fmt.Errorf("the list function gave an empty page and the continue token %.40q a second time", page.Continue)
	}
	if page.Continue == asked {
		page.Continue += repeated
	}
	return nil
}

func (b *bridge) list(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[object], error) {
	list := func() (runtime.Object, error) { return b.lw.ListWithContext(ctx, opts) }
	from, err := interruptible(ctx, 0, list, nil)
	if err != nil {
		return nil, err
	}
	return b.listOf(from)
}

func (b *bridge) listOf(from runtime.Object) (*listwatch.List[object], error) {
	if from == nil {
		return nil, errNoList
	}
	if gvk, isTable := tableKind(from); isTable {
		return nil, fmt.Errorf("unsupported list gvk: %v, type: %v", gvk, b.what)
	}
	m, err := meta.ListAccessor(from)
	if err != nil {
		return nil, fmt.Errorf("unable to understand list result %#v: %w", from, err)
	}
	list := &listwatch.List[object]{
		ResourceVersion:    m.GetResourceVersion(),
		Continue:           m.GetContinue(),
		RemainingItemCount: m.GetRemainingItemCount(),
	}
	// WithAlloc: keeping one item does not keep the array of all.
	err = meta.EachListItemWithAlloc(from, func(item runtime.Object) error {
		obj, bad := b.objectOf(item)
		if bad == nil {
			list.Items = append(list.Items, obj)
		} else {
			list.Bad = append(list.Bad, bad)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("unable to understand list result %#v: %w", from, err)
	}
	return list, nil
}

// Watch implements listwatch.ListerWatcher.
func (b *bridge) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[object], error) {
	ask := b.watch
	if b.native != nil {
		ask = b.watchUndecoded
	}
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if b.early != nil {
		b.early.begins()
	}
	stream, err := ask(ctx, opts)
	if err != nil {
		kind := watchRequest
		if initial {
			kind = streamRequest
		}
		return nil, &requestError{kind, err}
	}
	if initial && b.early != nil {
		return &earlyStream{Stream: stream, early: b.early}, nil
	}
	return stream, nil
}

func (b *bridge) watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[object], error) {
	abandoned := func(w watch.Interface) {
		if w != nil {
			w.Stop()
		}
	}
	begin := func() (watch.Interface, error) { return b.lw.WatchWithContext(ctx, opts) }
	w, err := interruptible(ctx, watchGrace, begin, abandoned)
	if err == nil && w == nil {
		err = errNoWatch
	}
	if err != nil {
		return nil, err
	}
	return newBridgeStream(ctx, b, opts, w), nil
}

// objectOf returns obj, if it has the expected type and is no Table. The kind of an item of a list is not compared: it may
// be missing.
func (b *bridge) objectOf(obj runtime.Object) (object, *listwatch.ObjectError) {
	typed, ok := obj.(object)
	if ok && isNilPointer(obj) {
		ok = false
	}
	var err error
	switch actual := reflect.TypeOf(obj); {
	case b.expected != nil && actual != b.expected:
		err = fmt.Errorf("the object is a %v, not a %v", actual, b.expected)
	case !ok:
		err = fmt.Errorf("the object, a %v, has no metadata", actual)
	default:
		err = checkNoTable(obj)
	}
	if err == nil {
		return typed, nil
	}
	return nil, objectError(obj, err)
}

// objectOfEvent is objectOf, and compares the kind.
func (b *bridge) objectOfEvent(obj runtime.Object) (object, *listwatch.ObjectError) {
	typed, bad := b.objectOf(obj)
	if bad != nil || b.gvk == nil {
		return typed, bad
	}
	if gvk := obj.GetObjectKind().GroupVersionKind(); gvk != *b.gvk {
		return nil, objectError(obj, fmt.Errorf("the object is a %v, not a %v", gvk, *b.gvk))
	}
	return typed, nil
}

func objectError(obj runtime.Object, err error) *listwatch.ObjectError {
	bad := &listwatch.ObjectError{Err: err}
	if typed, ok := obj.(object); ok && !isNilPointer(obj) {
		bad.Key, bad.ResourceVersion = listwatch.KeyOf(typed), typed.GetResourceVersion()
	}
	return bad
}

func checkNoTable(obj runtime.Object) error {
	if gvk, isTable := tableKind(obj); isTable {
		return fmt.Errorf("unsupported gvk %v", gvk)
	}
	return nil
}

// tableKind reports whether obj is, or claims to be, a Table, whose objects cannot be read.
func tableKind(obj runtime.Object) (schema.GroupVersionKind, bool) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if _, ok := obj.(*metav1.Table); ok {
		return gvk, true
	}
	return gvk, gvk.Group == metav1.GroupName && gvk.Kind == "Table"
}

func isNilPointer(obj any) bool {
	v := reflect.ValueOf(obj)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// watchGrace is how long a watch function may go on after its context has ended. client-go waits for it without end, and
// not at all for a list function. Without any wait a fake might still be at work when the informer has stopped.
const watchGrace = time.Second

// interruptible returns f's result, or the error of ctx if f goes on for longer than grace after ctx has ended. Then f's
// result goes to abandoned, if not nil.
func interruptible[R any](ctx context.Context, grace time.Duration, f func() (R, error), abandoned func(R)) (R, error) {
	type answer struct {
		result R
		err    error
	}
	answers, gone := make(chan answer), make(chan struct{})
	go func() {
		result, err := guarded(ctx, f)
		select {
		case answers <- answer{result, err}:
		case <-gone:
			if abandoned != nil && err == nil {
				abandoned(result)
			}
		}
	}()
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-answers:
		return a.result, a.err
	case <-time.After(grace):
		close(gone)
		var none R
		return none, ctx.Err()
	}
}
