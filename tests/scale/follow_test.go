package scale

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller/shards"
	"glasswatch/controller/shards/follow"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer/merged"
)

// The same, of members whose informers follow their shards: no reconcile begins whose store misses what the server had
// when the shard was got. After each step each object is in one store, that of its shard's owner, in its last version.
func TestScaleFollow(t *testing.T) {
	playAll(t, *schedules/10, func(w *world) { w.objects = newObjects(w) })
}

// follower is a member whose informer follows its shards. It judges each reconcile that begins.
type follower struct {
	*follow.Group
	configs *follow.Informer[*corev1.ConfigMap]
	objects *objects

	mu  sync.Mutex
	got map[int]known // guarded by mu: by shard
}

// newFollower makes what New of shards makes, with an informer.
func (o *objects) newFollower(
	leases coordinationv1client.LeasesGetter, opts shards.Options, network *link, paged bool,
) (*follower, error) {
	f := &follower{objects: o, got: map[int]known{}}
	opts.OnChange = f.changed
	var err error
	if f.Group, err = follow.New(leases, follow.Options{Member: opts, Field: o.field}); err != nil {
		return nil, err
	}
	var informer merged.Options[*corev1.ConfigMap]
	informer.Reflector.DisableStreamingList = paged
	informer.Reflector.Backoff.Max = opts.RenewEvery()
	informer.WatchErrorHandler = func(context.Context, error) {}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	client := &http.Client{Transport: network}
	f.configs, err = follow.Add(f.Group, func(s shard.Selector) (listwatch.ListerWatcher[*corev1.ConfigMap], error) {
		return listwatch.NewForConfig[*corev1.ConfigMap](&rest.Config{Host: "http://server"}, configMaps,
			listwatch.Options{HTTPClient: client, Shard: s})
	}, informer)
	return f, err
}

// changed notes what the server has of the shards that were got.
func (f *follower) changed(gained map[int]time.Time, _ []int) {
	f.objects.mu.Lock()
	defer f.objects.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range gained {
		k := known{map[string]string{}, maps.Clone(f.objects.gone)}
		for name, obj := range f.objects.live {
			if f.Of(obj) == s {
				k.live[name] = obj.ResourceVersion
			}
		}
		f.got[s] = k
	}
}

// Begin is the Group's. If it succeeds, the store must have all that the server had of the shard when it was got.
func (f *follower) Begin(parent context.Context, s int) (ctx context.Context, done func(), ok bool) {
	if ctx, done, ok = f.Group.Begin(parent, s); !ok {
		return ctx, done, ok
	}
	stored := map[string]uint64{}
	for _, obj := range f.configs.Store().All() {
		if f.Of(obj) == s {
			stored[obj.Name] = number(obj.ResourceVersion)
		}
	}
	f.objects.mu.Lock()
	defer f.objects.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, version := range f.got[s].live {
		if f.objects.live[name] != nil && stored[name] < number(version) {
			f.objects.complain("a reconcile of shard %d begins, and has %s in version %d, not %s",
				s, name, stored[name], version)
		}
	}
	for name := range stored {
		if f.got[s].gone[name] {
			f.objects.complain("a reconcile of shard %d begins, and %s was gone before it was got", s, name)
		}
	}
	return ctx, done, ok
}

func number(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64)
	return n
}

// known is what the server had for certain when a shard was got.
type known struct {
	live map[string]string // the versions, by name
	gone map[string]bool
}
