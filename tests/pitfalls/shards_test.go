package pitfalls

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// halfOfHashes are the two shards of these tests, as selectors.
var halfOfHashes = [2]string{
	"shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')",
	"shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
}

// inHalf reports whether the namespace of obj is in the first or the second half of the hashes.
func inHalf(half int, obj any) bool {
	lower := sharding.HexLess("0x"+sharding.HashField(obj.(*corev1.ConfigMap).Namespace), "0x8000000000000000")
	return lower == (half == 0)
}

// PutEach creates a ConfigMap in each of the namespaces.
func (c *cluster) PutEach(namespaces ...string) (written []*corev1.ConfigMap) {
	c.Helper()
	require.NoError(c, c.SeedNamespaces(namespaces...))
	for _, ns := range namespaces {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "settings"}}
		obj, err := c.Client.CoreV1().ConfigMaps(ns).Create(c.Context(), obj, metav1.CreateOptions{})
		require.NoError(c, err)
		written = append(written, obj)
	}
	return written
}

// tells is a handler that notes the namespaces of new objects.
func tells(n *notes) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { n.add("%s", obj.(*corev1.ConfigMap).Namespace) }}
}

// A member of a sharded controller watches everything, and its handler drops what belongs to other members.
//
// Why: the informer has decoded and stored the object before the handler is asked. So each member needs the memory, the
// bytes and the CPU of all objects. More members make the whole dearer, and none of them cheaper.
//
// You see: a member with 3 of 8 objects holds 8 in its store
//
// Instead: ask the server for the shard, with ShardSelector in the options of lists and watches. Keep the filter as
// well: a server whose gate ShardedListAndWatch is off ignores the selector.
func TestPitfall_FilteringInTheHandler(t *testing.T) {
	naive := func(c *cluster, member cache.ResourceEventHandler) cache.SharedIndexInformer {
		informer := coreinformers.NewConfigMapInformer(c.Client, "", 0, cache.Indexers{})
		_, _ = informer.AddEventHandler(cache.FilteringResourceEventHandler{
			FilterFunc: func(obj any) bool { return inHalf(1, obj) }, Handler: member,
		})
		return informer
	}
	right := func(c *cluster, member cache.ResourceEventHandler) cache.SharedIndexInformer {
		informer := coreinformers.NewFilteredConfigMapInformer(c.Client, "", 0, cache.Indexers{},
			func(opts *metav1.ListOptions) { opts.ShardSelector = halfOfHashes[1] })
		_, _ = informer.AddEventHandler(cache.FilteringResourceEventHandler{
			FilterFunc: func(obj any) bool { return inHalf(1, obj) }, Handler: member,
		})
		return informer
	}
	type half = func(c *cluster, member cache.ResourceEventHandler) cache.SharedIndexInformer
	property := func(t *testing.T, informerOf half) error {
		c := startCluster(t)
		c.PutEach("ads", "billing", "cart", "mail", "orders", "risk", "search", "users")
		var told notes
		informer := informerOf(c, tells(&told))
		c.run(informer)
		require.ElementsMatch(t, []string{"ads", "cart", "risk"}, told.all())
		if n := len(informer.GetStore().List()); n != 3 {
			return fmt.Errorf("a member with 3 of 8 objects holds %d in its store", n)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// Server and client divide the objects by different hashes.
//
// Why: the server sends a member what is in its range of FNV-1a with 64 bits. If the client then asks another hash
// whether the object is its own, it drops some of them. The member that the other hash means is never sent them.
//
// You see: no member was told of [risk, search, users]
//
// Instead: filter by the hash that the server uses: HashField of k8s.io/apimachinery/pkg/sharding, of the same field.
func TestPitfall_AHashTheServerDoesNotUse(t *testing.T) {
	naive := func(member int, obj *corev1.ConfigMap) bool {
		hash := fnv.New32a()
		hash.Write([]byte(obj.Namespace))
		return hash.Sum32()%2 == uint32(member)
	}
	right := func(member int, obj *corev1.ConfigMap) bool {
		hash := "0x" + sharding.HashField(obj.Namespace)
		return sharding.HexLess(hash, "0x8000000000000000") == (member == 0)
	}
	property := func(t *testing.T, isMine func(member int, obj *corev1.ConfigMap) bool) error {
		c := startCluster(t)
		namespaces := []string{"ads", "billing", "cart", "mail", "orders", "risk", "search", "users"}
		c.PutEach(namespaces...)
		var told notes
		for member, selector := range halfOfHashes {
			informer := coreinformers.NewFilteredConfigMapInformer(c.Client, "", 0, cache.Indexers{},
				func(opts *metav1.ListOptions) { opts.ShardSelector = selector })
			_, err := informer.AddEventHandler(cache.FilteringResourceEventHandler{
				FilterFunc: func(obj any) bool { return isMine(member, obj.(*corev1.ConfigMap)) },
				Handler:    tells(&told),
			})
			require.NoError(t, err)
			c.run(informer)
		}
		seen := told.all()
		require.Subset(t, namespaces, seen)
		missed := slices.DeleteFunc(namespaces, func(ns string) bool { return slices.Contains(seen, ns) })
		if len(missed) > 0 {
			return fmt.Errorf("no member was told of [%s]", strings.Join(missed, ", "))
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// Namespaces whose names differ in a number at the end are divided by their hash.
//
// Why: a shard is a range of FNV-1a, so the high bits decide. The last characters of a name hardly reach them. So the
// hashes of team-000 to team-199 lie close together.
//
// You see: one of five members has 200 of 200 objects
//
// Instead: divide by object.metadata.uid, which is random from its first character. If owners and children must stay
// together, count where your namespaces fall before you choose them, and put the number first in the names of new ones.
func TestPitfall_NumbersAtTheEndOfNamespaces(t *testing.T) {
	naive := func(obj *corev1.ConfigMap) string { return sharding.HashField(obj.Namespace) }
	right := func(obj *corev1.ConfigMap) string { return sharding.HashField(string(obj.UID)) }
	property := func(t *testing.T, hashOf func(*corev1.ConfigMap) string) error {
		var namespaces []string
		for i := range 200 {
			namespaces = append(namespaces, fmt.Sprintf("team-%03d", i))
		}
		fifths := []string{"3333333333333333", "6666666666666666", "9999999999999999", "cccccccccccccccc"}
		var held [5]int
		for _, obj := range startCluster(t).PutEach(namespaces...) {
			member, _ := slices.BinarySearch(fifths, hashOf(obj))
			held[member]++
		}
		if most := slices.Max(held[:]); most > 100 {
			return fmt.Errorf("one of five members has %d of 200 objects", most)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// members are those whose Leases are there.
func (c *cluster) members() (names []string) {
	c.Helper()
	labelled := metav1.ListOptions{LabelSelector: "member"}
	list, err := c.Client.CoordinationV1().Leases("default").List(c.Context(), labelled)
	require.NoError(c, err)
	for _, lease := range list.Items {
		names = append(names, lease.Name)
	}
	return names
}

// ownerOf is the assignment that all members compute: the one with the highest hash.
func ownerOf(shard string, members []string) string {
	return slices.MaxFunc(members, func(a, b string) int {
		return strings.Compare(sharding.HashField(shard+"/"+a), sharding.HashField(shard+"/"+b))
	})
}

// PutLease creates a Lease that nobody holds.
func (c *cluster) PutLease(name string, labels map[string]string) *coordinationv1.Lease {
	c.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	lease, err := c.Client.CoordinationV1().Leases("default").Create(c.Context(), lease, metav1.CreateOptions{})
	require.NoError(c, err)
	return lease
}

// hold writes who holds a Lease, and returns what it wrote. It reports whether it could: not if another has written since
// lease was read.
func (c *cluster) hold(lease *coordinationv1.Lease, holder string) (written *coordinationv1.Lease, ok bool) {
	lease.Spec.HolderIdentity = &holder
	written, err := c.Client.CoordinationV1().Leases("default").Update(c.Context(), lease, metav1.UpdateOptions{})
	return written, err == nil
}

// lease returns a Lease as it is now.
func (c *cluster) lease(name string) *coordinationv1.Lease {
	c.Helper()
	lease, err := c.Client.CoordinationV1().Leases("default").Get(c.Context(), name, metav1.GetOptions{})
	require.NoError(c, err)
	return lease
}

// Members compute the same assignment from the list of members, and each begins with what is its own.
//
// Why: they do not compute it at the same moment. The member that loses a shard is still at work on its keys, or has
// not heard of the other one yet, when the new owner begins.
//
// You see: one and two reconcile the keys of one shard at the same time
//
// Instead: let a Lease for each shard be its fence. A member begins when it has written its name there, with the
// resourceVersion that it has read. It may write when the Lease is free or its holder is dead. The old owner takes its
// name out when its last key is done, with the resourceVersion of its own write: the fence may be another's by then.
func TestPitfall_TwoOwnersWithoutAFence(t *testing.T) {
	naive := func(c *cluster, member string) (finish func(), ok bool) {
		if ownerOf("shard-7", c.members()) != member {
			return nil, false
		}
		return func() {}, true
	}
	right := func(c *cluster, member string) (finish func(), ok bool) {
		fence := c.lease("shard-7")
		taken := fence.Spec.HolderIdentity != nil && *fence.Spec.HolderIdentity != ""
		if taken || ownerOf("shard-7", c.members()) != member {
			return nil, false
		}
		mine, ok := c.hold(fence, member)
		return func() { c.hold(mine, "") }, ok
	}
	property := func(t *testing.T, begin func(c *cluster, member string) (finish func(), ok bool)) error {
		c := startCluster(t)
		c.PutLease("shard-7", nil)
		c.PutLease("one", map[string]string{"member": ""})
		finish, ok := begin(c, "one")
		require.True(t, ok)
		c.PutLease("two", map[string]string{"member": ""})
		require.Equal(t, "two", ownerOf("shard-7", c.members()))
		if _, ok := begin(c, "two"); ok {
			return errors.New("one and two reconcile the keys of one shard at the same time")
		}
		finish()
		_, ok = begin(c, "two")
		require.True(t, ok, "one has finished")
		finish() // late, as of a process that hung
		require.Equal(t, "two", *c.lease("shard-7").Spec.HolderIdentity, "one has cleared the fence of two")
		return nil
	}
	contrast(t, property, naive, right)
}

// slowAnswers are answers that come late. The server has long done what it was asked to.
type slowAnswers struct {
	http.RoundTripper
	late time.Duration
}

func (s slowAnswers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(request)
	<-time.After(s.late)
	return response, err
}

// A member counts how long its Lease holds from when the renewal was answered.
//
// Why: others count from the renewal itself. The answer may come much later, as from a server that is overloaded. For
// as long as it took, the member goes on with a Lease that another may take.
//
// You see: the member goes on for 8s after others may take its Lease
//
// Instead: note the time before the renewal is sent, and count from there.
func TestPitfall_ADeadlineFromTheAnswer(t *testing.T) {
	const duration = 15 * time.Second
	type leases = coordinationclient.LeaseInterface
	naive := func(ctx context.Context, leases leases, lease *coordinationv1.Lease) (deadline time.Time, err error) {
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return time.Now().Add(duration), err
	}
	right := func(ctx context.Context, leases leases, lease *coordinationv1.Lease) (deadline time.Time, err error) {
		sent := time.Now()
		lease.Spec.RenewTime = &metav1.MicroTime{Time: sent}
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return sent.Add(duration), err
	}
	type half = func(context.Context, leases, *coordinationv1.Lease) (deadline time.Time, err error)
	property := func(t *testing.T, renew half) error {
		c := startCluster(t)
		lease := c.PutLease("one", nil)
		cfg := rest.CopyConfig(c.Config)
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return slowAnswers{next, 8 * time.Second} })
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		deadline, err := renew(t.Context(), client.CoordinationV1().Leases("default"), lease)
		require.NoError(t, err)
		taken := c.lease("one").Spec.RenewTime.Add(duration) // in whole microseconds
		if late := deadline.Sub(taken).Truncate(time.Second); late > 0 {
			return fmt.Errorf("the member goes on for %s after others may take its Lease", late)
		}
		return nil
	}
	contrast(t, property, naive, right)
}
