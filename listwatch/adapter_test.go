package listwatch

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
)

func TestFromWatch_TranslatesEveryKindOfEvent(t *testing.T) {
	source := watch.NewFakeWithChanSize(16, false)
	stream := FromWatch[*corev1.Service](source)
	cart := serviceV1("cart", "5")
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	source.Add(cart)
	source.Modify(cart)
	source.Delete(cart)
	source.Action(watch.Bookmark, bookmarkV1("6", true))
	source.Action(watch.Bookmark, bookmarkV1("", true))
	source.Add(&corev1.Pod{ObjectMeta: cart.ObjectMeta})
	source.Add(serviceV1("", "7"))
	source.Add((*corev1.Service)(nil))
	source.Action("RENAMED", cart)
	source.Action(watch.Error, &expired)
	source.Add(cart)

	for _, want := range []Event[*corev1.Service]{
		{Type: Added, Object: cart, ResourceVersion: "5"},
		{Type: Modified, Object: cart, ResourceVersion: "5"},
		{Type: Deleted, Object: cart, ResourceVersion: "5"},
		{Type: Bookmark, ResourceVersion: "6", InitialEventsEnd: true},
	} {
		got, err := stream.Next()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, want := range []string{
		`unreadable BOOKMARK event of unknown name: the bookmark has no resourceVersion`,
		`unreadable ADDED event "shop/cart" at resourceVersion 5: the object is a *v1.Pod, not a *v1.Service`,
		`unreadable ADDED event of unknown name at resourceVersion 7: the object has no name`,
		`unreadable ADDED event of unknown name: the object is a nil *v1.Service`,
		`unreadable object "shop/cart" at resourceVersion 5: watch event of unknown type "RENAMED"`,
	} {
		_, err := stream.Next()
		_, ok := errors.AsType[*ObjectError](err)
		assert.True(t, ok, "%v", err)
		assert.EqualError(t, err, want)
	}
	for range 2 {
		_, err := stream.Next()
		assert.True(t, apierrors.IsResourceExpired(err), "%v", err)
	}
	require.NoError(t, stream.Close())
	assert.True(t, source.IsStopped())
}

func TestFromWatch_BatchIsWhatWaitsUpToTheNextError(t *testing.T) {
	source := watch.NewFakeWithChanSize(16, false)
	stream := FromWatch[*corev1.Service](source)
	send := func(versions ...string) {
		for _, version := range versions {
			source.Modify(serviceV1("cart", version))
		}
	}
	room := make([]Event[*corev1.Service], 3)
	expect := func(want ...string) {
		t.Helper()
		n, err := stream.NextBatch(room)
		require.NoError(t, err)
		var got []string
		for _, ev := range room[:n] {
			got = append(got, ev.ResourceVersion)
		}
		assert.Equal(t, want, got)
	}
	expectError := func(want string) {
		t.Helper()
		n, err := stream.NextBatch(room)
		assert.Zero(t, n)
		assert.ErrorContains(t, err, want)
	}
	send("1", "2", "3", "4")
	expect("1", "2", "3")
	expect("4")

	// An event that cannot be read comes alone, whoever asks for it, and costs none after it.
	for _, next := range []func(){
		func() { expectError("the object has no name") },
		func() {
			_, err := stream.Next()
			assert.ErrorContains(t, err, "the object has no name")
		},
	} {
		send("5")
		source.Add(serviceV1("", "6"))
		send("7", "8")
		expect("5")
		next()
		expect("7", "8")
	}

	send("9")
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	source.Action(watch.Error, &expired)
	send("10")
	expect("9")
	expectError("too old")
	expectError("too old")
	require.NoError(t, stream.Close())
}

func TestFromWatch_BatchWaitsForItsFirstEventOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := watch.NewFake() // with no buffer
		stream := FromWatch[*corev1.Service](source)
		time.AfterFunc(time.Hour, func() {
			source.Add(serviceV1("cart", "1"))
			time.AfterFunc(time.Hour, source.Stop)
		})
		room := make([]Event[*corev1.Service], 3)
		n, err := stream.NextBatch(room)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		_, err = stream.NextBatch(room)
		assert.Equal(t, io.EOF, err)
		require.NoError(t, stream.Close())
		_, err = stream.NextBatch(room)
		assert.Error(t, err)
	})
}

func TestFromWatch_CloseDropsAnErrorThatWaits(t *testing.T) {
	source := watch.NewFakeWithChanSize(2, false)
	stream := FromWatch[*corev1.Service](source)
	source.Add(serviceV1("cart", "1"))
	source.Add(serviceV1("", "2"))
	n, err := stream.NextBatch(make([]Event[*corev1.Service], 3))
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	require.NoError(t, stream.Close())
	_, err = stream.Next()
	assert.Equal(t, ErrClosed, err)
}

func TestFromWatch_EventWithoutAnObjectIsAnErrorAndNoPanic(t *testing.T) {
	for _, obj := range []runtime.Object{nil, (*corev1.Service)(nil), (*corev1.Pod)(nil), (*metav1.Status)(nil)} {
		for _, typ := range []watch.EventType{watch.Added, watch.Bookmark, watch.Error} {
			from := watch.NewFakeWithChanSize(1, false)
			from.Action(typ, obj)
			stream := FromWatch[*corev1.Service](from)
			_, err := stream.Next()
			assert.Error(t, err, "%s of %T", typ, obj)
			require.NoError(t, stream.Close())
		}
	}
}

func TestFromWatch_EndsLikeAnyStream(t *testing.T) {
	source := watch.NewFake()
	stream := FromWatch[*corev1.Service](source)
	source.Stop()
	for range 2 {
		_, err := stream.Next()
		assert.Equal(t, io.EOF, err)
	}
	require.NoError(t, stream.Close())

	source = watch.NewFakeWithChanSize(1, false)
	source.Action(watch.Error, serviceV1("cart", "5"))
	_, err := FromWatch[*corev1.Service](source).Next()
	assert.ErrorContains(t, err, "ERROR event that cannot be read")
	assert.True(t, apierrors.IsInternalError(err))
}

func TestFromWatch_CloseAndCancelWakeAWaitingNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := watch.NewFake()
		stream := FromWatch[*corev1.Service](source)
		time.AfterFunc(time.Hour, func() {
			assert.NoError(t, stream.Close())
			assert.NoError(t, stream.Close())
		})
		_, err := stream.Next()
		assert.Equal(t, ErrClosed, err)
		_, err = stream.Next()
		assert.Equal(t, ErrClosed, err)

		source = watch.NewFake()
		lw := Funcs[*corev1.Service]{WatchFunc: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			assert.True(t, opts.Watch)
			return source, nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		bounded, err := lw.Watch(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		_, err = bounded.Next()
		assert.Equal(t, context.DeadlineExceeded, err)
		synctest.Wait()
		assert.True(t, source.IsStopped(), "whoever produces the events must not wait for ever")
		require.NoError(t, bounded.Close())
	})
}

func TestFuncs_CancelStopsTheWatchBelowThoughNobodyIsPulling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := watch.NewFakeWithChanSize(1, false)
		lw := Funcs[*corev1.Service]{WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return source, nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := lw.Watch(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		source.Add(serviceV1("cart", "5"))
		synctest.Wait()
		assert.False(t, source.IsStopped())
		cancel()
		synctest.Wait()
		assert.True(t, source.IsStopped())
		for range 2 {
			_, err = stream.Next()
			assert.Equal(t, context.Canceled, err)
		}
		require.NoError(t, stream.Close())
	})
}

// registrar is a context that counts who waits for its end.
type registrar struct {
	context.Context
	waiting int
}

func (r *registrar) Value(any) any { return nil }

func (r *registrar) AfterFunc(func()) (stop func() bool) {
	r.waiting++
	return func() bool {
		r.waiting--
		return true
	}
}

func TestFuncs_ClosedStreamLetsGoOfItsContext(t *testing.T) {
	lw := Funcs[*corev1.Service]{WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return watch.NewFake(), nil
	}}
	ctx := &registrar{Context: t.Context()}
	stream, err := lw.Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, 1, ctx.waiting)
	require.NoError(t, stream.Close())
	assert.Zero(t, ctx.waiting)
}

func TestFuncs_WorkOnAFakeClientset(t *testing.T) {
	clientset := fake.NewClientset(serviceV1("cart", "5"))
	services := clientset.CoreV1().Services("shop")
	lw := Funcs[*corev1.Service]{
		ListFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list, err := services.List(ctx, opts)
			if err == nil {
				list.ResourceVersion = "5" // the fake has none
			}
			return list, err
		},
		WatchFunc: services.Watch,
	}
	list, err := ListAll(t.Context(), lw, metav1.ListOptions{}, 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"shop/cart"}, keysOf(list.Items))

	stream, err := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer stream.Close()
	require.NoError(t, services.Delete(t.Context(), "cart", metav1.DeleteOptions{}))
	ev, err := stream.Next()
	require.NoError(t, err)
	assert.Equal(t, Deleted, ev.Type)
	assert.Equal(t, "cart", ev.Object.Name)
}

func TestFuncs_Errors(t *testing.T) {
	cause := errors.New("why")
	lw := Funcs[*corev1.Service]{
		ListFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, cause },
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, cause },
	}
	_, err := lw.List(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, cause)
	_, err = lw.Watch(t.Context(), metav1.ListOptions{})
	assert.ErrorIs(t, err, cause)
	for _, tc := range []struct {
		list runtime.Object
		says string
	}{
		{serviceList(""), "no resourceVersion"},
		{&metav1.Status{}, "the items of a *v1.Status"},
		{&runtime.Unknown{}, "ListFunc returned a *runtime.Unknown"},
		{&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}, "a *v1.PodList, whose items are of type *v1.Pod, not *v1.Service"},
	} {
		if status, ok := tc.list.(*metav1.Status); ok {
			status.ResourceVersion = "9"
		}
		lw.ListFunc = func(context.Context, metav1.ListOptions) (runtime.Object, error) { return tc.list, nil }
		_, err = lw.List(t.Context(), metav1.ListOptions{})
		assert.ErrorContains(t, err, tc.says)
	}
	pod := &corev1.Pod{ObjectMeta: serviceV1("a-pod", "5").ObjectMeta}
	mixed := &corev1.List{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []runtime.RawExtension{{Object: pod}}}
	lw.ListFunc = func(context.Context, metav1.ListOptions) (runtime.Object, error) { return mixed, nil }
	list, err := lw.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{`unreadable object "shop/a-pod" at resourceVersion 5: the object is a *v1.Pod, not a *v1.Service`}, textOf(list.Bad))
}
