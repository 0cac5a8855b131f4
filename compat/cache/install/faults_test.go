package install

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/metrics"

	"glasswatch/compat/cache"
	"glasswatch/internal/apiserver"
)

// outage is what a server does to an informer that watches.
type outage struct {
	name   string
	silent bool // handlers of watch errors are told nothing
	strike func(s *town)
}

func fail(n int, failure apiserver.Failure) func(*town) {
	return func(s *town) {
		failure.Resource = "configmaps"
		s.server.Faults().FailNext(n, failure)
		s.server.Faults().DropWatches()
	}
}

var outages = []outage{
	{"a clean end", true, func(s *town) { s.server.Faults().DropWatches() }},
	{"a torn connection", true, func(s *town) { s.server.Faults().BreakWatches() }},
	{"half a frame", true, func(s *town) { s.server.Faults().CutNextFrame() }},
	{"an ERROR event", true, func(s *town) { s.server.Faults().ExpireWatches() }},
	{"a forbidden watch", false, fail(1, apiserver.Failure{Verb: "watch", Code: 403})},
	{"a busy server", true, fail(2, apiserver.Failure{Verb: "watch", Code: 429, RetryAfter: 2 * time.Second})},
	{"a broken server", false, fail(2, apiserver.Failure{Verb: "watch", Code: 500})},
	{"no answer to a watch", true, fail(1, apiserver.Failure{Verb: "watch"})},
	{"a failing list", false, func(s *town) {
		s.server.Faults().RefuseStreamingLists(true)
		s.server.Faults().FailNext(2, apiserver.Failure{Verb: "list", Code: 500, Resource: "configmaps"})
		s.server.Faults().ExpireWatches()
	}},
	{"a torn list", false, func(s *town) {
		s.server.Faults().RefuseStreamingLists(true)
		s.server.Faults().FailNext(20, apiserver.Failure{Verb: "list", Resource: "configmaps"})
		s.server.Faults().ExpireWatches()
	}},
}

// What goes wrong on the way is told to the same handlers, in the same words, whoever decodes the answers.
func TestInformers_TellOfTheSameErrorsWhoeverDecodes(t *testing.T) {
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			told := map[bool][]string{}
			for _, unshared := range []bool{false, true} {
				inTown(t, func(t *testing.T, ctx context.Context, s *town) {
					informer, err := NewInformer(s.client, &corev1.ConfigMap{}, Options{DisableSharing: unshared}, cache.SharedIndexInformerOptions{})
					require.NoError(t, err)
					var errs []string
					require.NoError(t, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, r *clientgo.Reflector, err error) {
						errs = append(errs, r.TypeDescription()+": "+err.Error())
					}))
					run(t, ctx, informer)
					require.Equal(t, !unshared, shares(t, informer, "default/config-8", "default/config-9"))
					o.strike(s)
					s.Put(t, "default", "meanwhile")
					<-time.After(10 * time.Minute) // of virtual time
					synctest.Wait()
					configMap(t, informer, "default/meanwhile")
					s.Put(t, "default", "afterwards")
					synctest.Wait()
					configMap(t, informer, "default/afterwards")
					told[unshared] = slices.Compact(errs)
				})
			}
			require.Equal(t, told[true], told[false])
			require.Equal(t, o.silent, len(told[false]) == 0, "%v", told[false])
		})
	}
}

// spy is a transport of the program's own, such as one that signs requests. It notes them, and may spoil an answer.
type spy struct {
	base  http.RoundTripper
	spoil func(req *http.Request, resp *http.Response)

	mu       sync.Mutex // protects requests
	requests map[string]int
}

func (s *spy) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	s.mu.Lock()
	s.requests[fmt.Sprint(req.URL.Path, " watch=", query.Get("watch"), " ", req.Header)]++
	s.mu.Unlock()
	resp, err := s.base.RoundTrip(req)
	if err == nil && s.spoil != nil {
		s.spoil(req, resp)
	}
	return resp, err
}

// watched returns what the server was asked for in ten minutes, by an informer that shares, and by one that does not.
func watched(t *testing.T, config func(*rest.Config)) (shared, unshared map[string]int) {
	t.Helper()
	requests := map[bool]map[string]int{}
	for _, disable := range []bool{false, true} {
		inTown(t, func(t *testing.T, ctx context.Context, s *town) {
			noted := &spy{requests: map[string]int{}}
			s.config.Wrap(func(base http.RoundTripper) http.RoundTripper { noted.base = base; return noted })
			config(s.config)
			client, err := kubernetes.NewForConfig(s.config)
			require.NoError(t, err)
			informer, err := NewInformer(client, &corev1.ConfigMap{}, Options{DisableSharing: disable}, cache.SharedIndexInformerOptions{})
			require.NoError(t, err)
			run(t, ctx, informer)
			<-time.After(10 * time.Minute) // of virtual time
			synctest.Wait()
			s.Put(t, "default", "afterwards")
			<-time.After(time.Minute)
			configMap(t, informer, "default/afterwards")
			noted.mu.Lock()
			defer noted.mu.Unlock()
			requests[disable] = maps.Clone(noted.requests) // more follow when the server ends
		})
	}
	require.NotEmpty(t, requests[true])
	return requests[false], requests[true]
}

func TestInformers_SendTheRequestsOfTheClientset(t *testing.T) {
	for name, config := range map[string]func(*rest.Config){
		"as it is":      func(*rest.Config) {},
		"JSON only":     func(c *rest.Config) { c.ContentType = "application/json" },
		"impersonating": func(c *rest.Config) { c.Impersonate.UserName, c.UserAgent = "somebody", "a program" },
		"in a hurry":    func(c *rest.Config) { c.Timeout = 30 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			shared, unshared := watched(t, config)
			require.ElementsMatch(t, slices.Collect(maps.Keys(unshared)), slices.Collect(maps.Keys(shared)))
			for request, n := range unshared {
				if !strings.Contains(request, " watch=true ") { // a watch lasts for a random time
					require.Equal(t, n, shared[request], request)
				}
			}
		})
	}
}

func TestInformers_RecoverFromAListThatBreaksOff(t *testing.T) {
	told := map[bool][]string{}
	for _, unshared := range []bool{false, true} {
		inTown(t, func(t *testing.T, ctx context.Context, s *town) {
			s.server.Faults().RefuseStreamingLists(true)
			broken := 0
			s.config.Wrap(func(base http.RoundTripper) http.RoundTripper {
				return &spy{base: base, requests: map[string]int{}, spoil: func(req *http.Request, resp *http.Response) {
					if req.URL.Query().Has("watch") || broken == 3 {
						return
					}
					broken++
					resp.Body = struct {
						io.Reader
						io.Closer
					}{io.MultiReader(io.LimitReader(resp.Body, 100), iotest.ErrReader(io.ErrUnexpectedEOF)), resp.Body}
				}}
			})
			client, err := kubernetes.NewForConfig(s.config)
			require.NoError(t, err)
			informer, err := NewInformer(client, &corev1.ConfigMap{}, Options{DisableSharing: unshared}, cache.SharedIndexInformerOptions{})
			require.NoError(t, err)
			require.NoError(t, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *clientgo.Reflector, err error) {
				told[unshared] = append(told[unshared], err.Error())
			}))
			run(t, ctx, informer)
			require.Equal(t, 3, broken)
			require.Equal(t, !unshared, shares(t, informer, "default/config-8", "default/config-9"))
		})
	}
	require.Len(t, told[true], 3)
	require.Equal(t, told[true], told[false])
}

// meter is a program's metric of client-go's requests.
type meter struct {
	mu       sync.Mutex // protects what follows
	requests map[string]int
	bytes    map[string]float64
}

func (m *meter) Increment(_ context.Context, code, method, _ string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[method+" "+code]++
}

func (m *meter) Observe(_ context.Context, verb, _ string, size float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes[verb] += size
}

func TestInformers_CountTheirRequestsAsClientGoDoes(t *testing.T) {
	result, size := metrics.RequestResult, metrics.ResponseSize
	counted := map[bool]*meter{}
	for _, unshared := range []bool{false, true} {
		inTown(t, func(t *testing.T, ctx context.Context, s *town) {
			s.server.Faults().RefuseStreamingLists(true)
			informer, err := NewInformer(s.client, &corev1.ConfigMap{}, Options{DisableSharing: unshared}, cache.SharedIndexInformerOptions{})
			require.NoError(t, err)
			m := &meter{requests: map[string]int{}, bytes: map[string]float64{}}
			counted[unshared] = m
			metrics.RequestResult, metrics.ResponseSize = m, m
			s.server.Faults().FailNext(2, apiserver.Failure{Verb: "list", Code: 429, RetryAfter: time.Second})
			run(t, ctx, informer)
			synctest.Wait()
		})
		metrics.RequestResult, metrics.ResponseSize = result, size
	}
	require.Equal(t, map[string]int{"GET 200": 2, "GET 422": 1, "GET 429": 2}, counted[true].requests)
	require.Equal(t, counted[true].requests, counted[false].requests)
	require.Positive(t, counted[true].bytes["GET"])
	require.Less(t, counted[false].bytes["GET"], counted[true].bytes["GET"], "only the refusals count")
}
