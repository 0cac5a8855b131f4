package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/merged"
)

// member is a group that runs, and what it was told.
type member struct {
	*Group
	configs  *Informer[*corev1.ConfigMap]
	services *Informer[*corev1.Service]
	stop     context.CancelFunc
	ended    chan error

	paged bool   // no streaming lists
	bad   string // the name of objects that Transform refuses
	of    int    // how many shards there are; shardCount unless it is set

	mu        sync.Mutex        // guards what follows
	listed    []int             // what OnListed was told
	listedAt  map[int]time.Time // when, by shard
	onListed  func(shards []int)
	requests  []string                 // lists and watches of ConfigMaps
	refuse    bool                     // these requests fail
	cutOff    bool                     // all requests fail
	stall     func(query string) bool  // such answers do not arrive
	stalled   chan struct{}            // closed when they arrive again
	beforePut func(key listwatch.Key)  // the store waits for it
	told      []string                 // what the handler of ConfigMaps was told
	view      map[listwatch.Key]string // and what it must take to be there, with its version
	untrue    []string                 // of that, what does not fit to what came before
	gone      map[types.UID]*gain      // what it was told is deleted, in a shard that was listed since that gain
	failures  []error                  // what WatchErrorHandler was told
}

// roundTrip records the requests for ConfigMaps. It refuses requests, or holds back the answers, if it shall.
func (m *member) roundTrip(network http.RoundTripper) apiservertest.RoundTripper {
	return func(req *http.Request) (*http.Response, error) {
		m.mu.Lock()
		refuse := m.cutOff
		if strings.HasSuffix(req.URL.Path, "/configmaps") {
			m.requests = append(m.requests, req.URL.RawQuery)
			refuse = refuse || m.refuse
		}
		m.mu.Unlock()
		if refuse {
			return nil, context.DeadlineExceeded
		}
		resp, err := network.RoundTrip(req)
		if err == nil {
			resp.Body = &body{resp.Body, m, req}
		}
		return resp, err
	}
}

// body is an answer that is held back while it shall be.
type body struct {
	io.ReadCloser
	m   *member
	req *http.Request
}

func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.m.mu.Lock()
	stall, stalled, cutOff := b.m.stall, b.m.stalled, b.m.cutOff
	b.m.mu.Unlock()
	if cutOff {
		return 0, io.ErrUnexpectedEOF
	}
	if stall != nil && stall(b.req.URL.RequestURI()) {
		select {
		case <-stalled:
		case <-b.req.Context().Done():
			return 0, b.req.Context().Err()
		}
	}
	return n, err
}

// Stall holds back the answers to such requests, from now on and until the function that it returns is called. It takes
// the place of an earlier Stall, whose answers wait on for the earlier function: so nothing slips through between the two.
func (m *member) Stall(which func(uri string) bool) (goOn func()) {
	stalled := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stall, m.stalled = which, stalled
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		close(stalled)
		if m.stalled == stalled {
			m.stall = nil
		}
	}
}

// make makes a member that does nothing yet, after change.
func (w *world) make(identity string, change func(*member)) *member {
	w.Helper()
	m := &member{ended: make(chan error, 1), of: shardCount, view: map[listwatch.Key]string{}, gone: map[types.UID]*gain{},
		listedAt: map[int]time.Time{}}
	if change != nil {
		change(m)
	}
	httpClient := &http.Client{Transport: m.roundTrip(w.network)}
	client, err := kubernetes.NewForConfigAndClient(w.Config, httpClient)
	require.NoError(w, err)
	m.Group, err = New(client.CoordinationV1(), Options{
		Member: shards.Options{Namespace: "default", Name: "web", Identity: identity, Shards: m.of},
		Field:  w.field,
		OnListed: func(shards []int) {
			m.mu.Lock()
			m.listed = append(m.listed, shards...)
			for _, s := range shards {
				m.listedAt[s] = time.Now()
			}
			onListed := m.onListed
			m.mu.Unlock()
			if onListed != nil {
				onListed(shards)
			}
		},
	})
	require.NoError(w, err)
	m.configs = addKind[*corev1.ConfigMap](w, m, "configmaps", httpClient)
	m.services = addKind[*corev1.Service](w, m, "services", httpClient)
	_, err = m.configs.AddHandler(m.handler(w), sharedinformer.HandlerOptions{})
	require.NoError(w, err)
	w.members[identity] = m
	return m
}

// Join starts a member, after change.
func (w *world) Join(identity string, change func(*member)) *member {
	w.Helper()
	m := w.make(identity, change)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	m.stop = stop
	go func() { m.ended <- m.Run(ctx) }()
	return m
}

// Alone starts a member that holds what the test says, whatever the Leases are.
func (w *world) Alone(identity string, change func(*member)) *member {
	w.Helper()
	m := w.make(identity, change)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	m.stop = stop
	var all errgroup.Group
	for _, k := range m.kinds {
		all.Go(func() error { return k.Run(ctx) })
	}
	all.Go(func() error { return m.follow(ctx) })
	go func() { m.ended <- all.Wait() }()
	return m
}

// Hold gives shards to a member that is alone.
func (m *member) Hold(shards ...int) {
	gained := map[int]time.Time{}
	for _, s := range shards {
		gained[s] = time.Now()
	}
	m.note(gained, nil)
}

// Lose takes shards from a member that is alone.
func (m *member) Lose(shards ...int) { m.note(nil, shards) }

// Set changes what the network does to a member.
func (m *member) Set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// Holds returns what a member holds, by what it was told.
func (m *member) Holds(shard int) bool {
	m.Group.mu.Lock()
	defer m.Group.mu.Unlock()
	return m.held[shard] != nil
}

// since returns the gain since which a shard is listed, nil if it is not, or has been for less than a second only: the
// handler may still be told of what was before.
func (m *member) since(shard int) *gain {
	m.Group.mu.Lock()
	defer m.Group.mu.Unlock()
	if !m.listedLocked(shard) || m.listedAt[shard].Before(m.held[shard].got) || time.Since(m.listedAt[shard]) < time.Second {
		return nil
	}
	return m.held[shard]
}

// handler wants what it is told to fit to what it was told before. In a shard that stays listed, nothing is deleted that
// the server has, and nothing that was deleted comes back.
func (m *member) handler(w *world) sharedinformer.Handler[*corev1.ConfigMap] {
	note := func(what string, obj *corev1.ConfigMap, mustBeThere bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		key := listwatch.KeyOf(obj)
		m.told = append(m.told, what+" "+key.String()+" "+obj.ResourceVersion)
		if _, there := m.view[key]; there != mustBeThere {
			m.untrue = append(m.untrue, fmt.Sprintf("the handler was told %s %s, there=%v", what, key, there))
		}
		m.view[key] = obj.ResourceVersion
		if what == "delete" {
			delete(m.view, key)
		}
	}
	compare := func(obj *corev1.ConfigMap, isAdded bool) {
		w.mu.Lock()
		isThere := w.uids[listwatch.KeyOf(obj)] == obj.UID
		w.mu.Unlock()
		m.mu.Lock()
		defer m.mu.Unlock()
		since := m.since(m.Of(obj))
		switch {
		case since == nil:
		case isAdded && m.gone[obj.UID] == since:
			m.untrue = append(m.untrue, fmt.Sprintf("%s was deleted and comes back", listwatch.KeyOf(obj)))
		case !isAdded && isThere:
			m.untrue = append(m.untrue, fmt.Sprintf("%s is said to be deleted", listwatch.KeyOf(obj)))
		}
		if !isAdded {
			m.gone[obj.UID] = since
		}
	}
	return sharedinformer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc:    func(obj *corev1.ConfigMap, _ bool) { note("add", obj, false); compare(obj, true) },
		UpdateFunc: func(_, obj *corev1.ConfigMap) { note("update", obj, true) },
		DeleteFunc: func(d sharedinformer.Deletion[*corev1.ConfigMap]) { note("delete", d.Obj, true); compare(d.Obj, false) },
	}
}

func addKind[T listwatch.Object](w *world, m *member, resource string, client *http.Client) *Informer[T] {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
	var opts merged.Options[T]
	opts.Reflector.DisableStreamingList = m.paged
	opts.WatchErrorHandler = func(_ context.Context, err error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.failures = append(m.failures, err)
	}
	if m.bad != "" {
		opts.Transform = func(obj T) (T, error) {
			if obj.GetName() == m.bad {
				return obj, errors.New("refused by Transform")
			}
			return obj, nil
		}
	}
	opts.OnObjectError = func(listwatch.Key, error) {}
	opts.BeforeStore = func(key listwatch.Key, _ listwatch.Object) {
		m.mu.Lock()
		beforePut := m.beforePut
		m.mu.Unlock()
		if beforePut != nil {
			beforePut(key)
		}
	}
	informer, err := Add(m.Group, func(s shard.Selector) (listwatch.ListerWatcher[T], error) {
		return listwatch.NewForConfig[T](w.Config, gvr, listwatch.Options{HTTPClient: client, Shard: s})
	}, opts)
	require.NoError(w, err)
	return informer
}
