package shards

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// story is a group of members around an API server, in virtual time.
type story struct {
	*apiservertest.Server
	network http.RoundTripper
	client  *coordinationv1client.CoordinationV1Client
	members map[string]*actor
	logger  logr.Logger // of members that join
}

// actor is a member that runs.
type actor struct {
	*Member
	client *faultyTransport
	stop   context.CancelFunc
	ended  chan error
}

// faultyTransport refuses the requests that refuse picks.
type faultyTransport struct {
	http.RoundTripper
	mu     sync.Mutex
	refuse func(*http.Request) bool
}

func (f *faultyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil && refuse(req) {
		return nil, context.DeadlineExceeded
	}
	return f.RoundTripper.RoundTrip(req)
}

func (f *faultyTransport) Refuse(refuse func(*http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = refuse
}

// tell runs a story in a bubble.
func tell(t *testing.T, do func(s *story)) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		transport := &http.Transport{DialContext: server.Config.Dial}
		server.Cleanup(transport.CloseIdleConnections)
		s := &story{Server: server, network: transport, members: map[string]*actor{}, logger: logr.Discard()}
		s.client = s.Client(transport)
		do(s)
		for _, name := range slices.Sorted(maps.Keys(s.members)) {
			s.Leave(name)
		}
	})
}

func (s *story) Client(transport http.RoundTripper) *coordinationv1client.CoordinationV1Client {
	cfg := &rest.Config{Host: "http://server", QPS: -1}
	client, err := coordinationv1client.NewForConfigAndClient(cfg, &http.Client{Transport: transport})
	require.NoError(s, err)
	return client
}

// Join starts a member. change may be nil.
func (s *story) Join(identity string, change func(*Options)) *actor {
	opts := Options{Namespace: "default", Name: "web", Identity: identity, Shards: 8}
	if change != nil {
		change(&opts)
	}
	transport := &faultyTransport{RoundTripper: s.network}
	m, err := New(s.Client(transport), opts)
	require.NoError(s, err)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), s.logger))
	a := &actor{Member: m, client: transport, stop: stop, ended: make(chan error, 1)}
	go func() { a.ended <- m.Run(ctx) }()
	s.members[identity] = a
	return a
}

// Leave stops a member and waits for it.
func (s *story) Leave(identity string) {
	a := s.members[identity]
	delete(s.members, identity)
	a.stop()
	require.NoError(s, <-a.ended)
}

// Pass lets virtual time go by.
func (s *story) Pass(d time.Duration) { apiservertest.Pass(d) }

// ExpectShared wants each shard to be held by exactly one of the members.
func (s *story) ExpectShared(shards int) {
	s.Helper()
	var held []int
	for _, a := range s.members {
		held = append(held, a.Held()...)
	}
	slices.Sort(held)
	want := make([]int, shards)
	for i := range want {
		want[i] = i
	}
	require.Equal(s, want, held)
}

// FenceVersions returns the versions of all fences.
func (s *story) FenceVersions() (versions string) {
	list, err := s.client.Leases("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(s, err)
	for _, l := range list.Items {
		if strings.HasPrefix(l.Name, "web-shard-") {
			versions += l.ResourceVersion + " "
		}
	}
	return versions
}

// Leases returns who is named by each Lease of the group, without the nonce.
func (s *story) Leases(kind string) map[string]string {
	only := metav1.ListOptions{LabelSelector: groupLabel + "=web"}
	list, err := s.client.Leases("default").List(context.Background(), only)
	require.NoError(s, err)
	found := map[string]string{}
	for _, l := range list.Items {
		if strings.HasPrefix(l.Name, "web-"+kind+"-") {
			found[l.Name] = identityOf(ptr.Deref(l.Spec.HolderIdentity, ""))
		}
	}
	return found
}
