package listwatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"
	"pgregory.net/rapid"

	"glasswatch/internal/rv"
)

// pagingServer is a list in memory, whose tokens expire after some pages and whose every list moves the
// resourceVersion on.
type pagingServer struct {
	names     []string
	bad       map[int]bool
	expireAt  int // the request, counted from 1, whose token is too old; 0 is never
	gone      bool
	asked     []metav1.ListOptions
	unpaged   bool // ignores Limit, as old caches do
	forgetful bool // gives the same token for ever
	senile    bool // knows no token, and splits every list
}

func (p *pagingServer) List(_ context.Context, opts metav1.ListOptions) (*List[*corev1.Service], error) {
	p.asked = append(p.asked, opts)
	if opts.Continue != "" && (opts.ResourceVersion != "" || opts.ResourceVersionMatch != "") {
		return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	if len(p.asked) == p.expireAt {
		if p.gone {
			return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonGone, Message: "gone"}}
		}
		return nil, apierrors.NewResourceExpired("token too old")
	}
	if p.senile {
		if len(p.asked) > 9 {
			return nil, errors.New("asked without end")
		}
		if opts.Continue != "" {
			return nil, apierrors.NewResourceExpired("token too old")
		}
		opts.Limit = 1
	}
	from, _ := strconv.Atoi(opts.Continue)
	to := len(p.names)
	if opts.Limit > 0 && !p.unpaged {
		to = min(to, from+int(opts.Limit))
	}
	list := &List[*corev1.Service]{ResourceVersion: fmt.Sprint(100 + len(p.asked))}
	for i := from; i < to; i++ {
		if p.bad[i] {
			list.Bad = append(list.Bad, &ObjectError{Key: Key{Name: p.names[i]}, Err: errNoName})
		} else {
			list.Items = append(list.Items, serviceV1(p.names[i], "1"))
		}
	}
	if to < len(p.names) {
		remaining := int64(len(p.names) - to)
		list.Continue, list.RemainingItemCount = fmt.Sprint(to), &remaining
	}
	if p.forgetful {
		list.Continue = "same"
	}
	return list, nil
}

func (p *pagingServer) Watch(context.Context, metav1.ListOptions) (Stream[*corev1.Service], error) {
	return nil, errors.ErrUnsupported
}

// Whatever the page size and wherever a token expires, the list is whole, as client-go's pager makes it.
func TestListAll_AgreesWithTheDumbList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,5}`), 0, 12, rapid.ID[string]).Draw(t, "names")
		server := &pagingServer{
			names:    names,
			bad:      rapid.MapOf(rapid.IntRange(0, 11), rapid.Just(true)).Draw(t, "bad"),
			expireAt: rapid.IntRange(0, 5).Draw(t, "expireAt"),
			gone:     rapid.Bool().Draw(t, "gone"),
			unpaged:  rapid.Bool().Draw(t, "unpaged"),
		}
		size := rapid.Int64Range(0, 5).Draw(t, "pageSize")
		opts := metav1.ListOptions{LabelSelector: "a=b", ResourceVersion: rapid.SampledFrom([]string{"", "0", "7"}).Draw(t, "rv")}
		if opts.ResourceVersion != "" {
			opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
		list, err := ListAll(t.Context(), server, opts, size)
		if server.expireAt == 1 {
			require.True(t, rv.IsExpired(err))
			require.Len(t, server.asked, 1)
			return
		}
		require.NoError(t, err)
		var items, bad []string
		for i, name := range names {
			if server.bad[i] {
				bad = append(bad, name)
			} else {
				items = append(items, name)
			}
		}
		var gotItems, gotBad []string
		for _, item := range list.Items {
			gotItems = append(gotItems, item.Name)
		}
		for _, b := range list.Bad {
			gotBad = append(gotBad, b.Key.Name)
		}
		require.Equal(t, items, gotItems)
		require.Equal(t, bad, gotBad)
		require.Empty(t, list.Continue)
		require.Nil(t, list.RemainingItemCount)
		want, fellBack := "101", server.expireAt > 0 && len(server.asked) > server.expireAt
		if fellBack {
			want = fmt.Sprint(100 + len(server.asked))
			last := server.asked[len(server.asked)-1]
			full := opts
			require.Equal(t, full, last, "the full list asks for what was asked for first, without a limit")
		}
		require.Equal(t, want, list.ResourceVersion)
		for _, asked := range server.asked {
			require.Equal(t, "a=b", asked.LabelSelector)
		}
		if !server.gone && size > 0 {
			// With page size 0 client-go's pager takes 500; it falls back on Expired only.
			compareWithPager(t, server, opts, size, gotItems, want)
		}
	})
}

func compareWithPager(t *rapid.T, like *pagingServer, opts metav1.ListOptions, size int64, items []string, resourceVersion string) {
	server := *like
	server.asked = nil
	p := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		page, err := server.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		out := &corev1.ServiceList{ListMeta: metav1.ListMeta{ResourceVersion: page.ResourceVersion, Continue: page.Continue}}
		for _, item := range page.Items {
			out.Items = append(out.Items, *item)
		}
		return out, nil
	})
	p.PageSize = size
	var got []string
	obj, _, err := p.List(t.Context(), opts)
	require.NoError(t, err)
	list, err := Funcs[*corev1.Service]{ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return obj, nil }}.List(t.Context(), opts)
	require.NoError(t, err)
	for _, item := range list.Items {
		got = append(got, item.Name)
	}
	require.Equal(t, got, items)
	require.Equal(t, list.ResourceVersion, resourceVersion)
	require.Equal(t, server.asked, like.asked)
}

func TestListAll_LimitOfTheCallerTakesPrecedence(t *testing.T) {
	server := &pagingServer{names: []string{"a", "b", "c"}}
	_, err := ListAll(t.Context(), server, metav1.ListOptions{Limit: 1}, 500)
	require.NoError(t, err)
	assert.Len(t, server.asked, 3)
}

func TestListAll_OtherErrorsAreReturned(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	lw := Funcs[*corev1.Service]{ListFunc: func(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		if opts.Continue != "" {
			return nil, forbidden
		}
		list := serviceList("9")
		list.Continue = "more"
		return list, nil
	}}
	_, err := ListAll(t.Context(), lw, metav1.ListOptions{}, 1)
	assert.Equal(t, error(forbidden), err)
}

func TestListAll_ServerThatMakesNoProgressIsAnError(t *testing.T) {
	_, err := ListAll(t.Context(), &pagingServer{forgetful: true}, metav1.ListOptions{}, 1)
	assert.ErrorContains(t, err, "a second time")
}

func TestListAll_AsksForEverythingAtOnceOnlyOnce(t *testing.T) {
	for _, size := range []int64{0, 1} {
		server := &pagingServer{names: []string{"a", "b"}, senile: true}
		_, err := ListAll(t.Context(), server, metav1.ListOptions{}, size)
		assert.True(t, rv.IsExpired(err), "%v", err)
		require.Len(t, server.asked, 4)
		assert.Zero(t, server.asked[2].Limit)
		assert.Empty(t, server.asked[2].Continue)
	}
}

// noVersion is a ListerWatcher of somebody else's that forgets the resourceVersion.
type noVersion struct{ pagingServer }

func (n *noVersion) List(context.Context, metav1.ListOptions) (*List[*corev1.Service], error) {
	return &List[*corev1.Service]{}, nil
}

func TestListAll_ListWithoutResourceVersionIsAnError(t *testing.T) {
	_, err := ListAll(t.Context(), &noVersion{}, metav1.ListOptions{}, 1)
	assert.ErrorIs(t, err, ErrNoResourceVersion)
}
