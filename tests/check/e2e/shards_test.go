package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/controller/shards"
	"glasswatch/listwatch/shard"
	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

// Three replicas with shards work through a storm in several namespaces. One is killed. Nothing is lost, and no key is
// reconciled by two at the same time. The server knows shards, or does not.
func TestShards_OneOfThreeIsKilledInAStormAndNothingIsLost(t *testing.T) {
	for _, c := range []struct {
		gate bool
		by   string
	}{{true, "namespace"}, {true, "uid"}, {false, "namespace"}, {false, "label"}} {
		t.Run(fmt.Sprintf("gate=%v/by=%s", c.gate, c.by), func(t *testing.T) {
			t.Parallel()
			cluster, err := newCluster(controlplane.StartGated(t, fmt.Sprintf("ShardedListAndWatch=%v", c.gate)))
			require.NoError(t, err)
			killInAStorm(t, cluster, c.by)
		})
	}
}

func killInAStorm(t *testing.T, c *cluster, by string) {
	c.install(t, manifests.Sharded, manifests.Namespace)
	args := append(deployedArgs(t, manifests.Sharded, manifests.Namespace),
		"--leader-elect-lease-duration=12s", "--shard-by="+by, "--shards=32", "-v=4")
	var replicas []*process
	for n := range 3 {
		p := start(t, c.kubeconfigOf(t, manifests.Namespace), append(args, fmt.Sprintf("--shard-identity=r%d", n))...)
		replicas = append(replicas, p)
	}
	eventually(t, func() error { return allHeld(replicas, 32) })
	var storms []*storm
	for n, prefix := range []string{"red", "green", "blue", "shop"} {
		s := &stage{c, t, c.namespaceOf(t, prefix, fmt.Sprintf("r%d", n%3))}
		storms = append(storms, s.storm())
	}
	for _, w := range storms {
		w.await(60)
	}
	for _, p := range replicas[1:] {
		eventually(t, p.ready) // a renewal may be slow
	}
	killed := time.Now()
	replicas[0].kill()
	eventually(t, func() error { return allHeld(replicas[1:], 32) })
	t.Logf("all shards were held again %s after SIGKILL", time.Since(killed).Round(time.Millisecond))
	for _, w := range storms {
		w.await(40)
	}
	for _, w := range storms {
		w.calm()
	}
	now := time.Now()
	neverTwice(t, replicas, []time.Time{killed, now, now})
}

// A replica that lacks the Role for the Leases says what to grant, reconciles nothing, and goes on once it is there.
func TestShards_WithoutTheRightsForLeasesAReplicaSaysWhatToGrant(t *testing.T) {
	c, err := newCluster(controlplane.StartGated(t, "ShardedListAndWatch=true"))
	require.NoError(t, err)
	s := &stage{c, t, c.namespace(t, "shop")}
	for _, missing := range []string{"watch", "update"} {
		c.apply(t, manifestsOf(t, manifests.Sharded, manifests.Namespace, func(resource, verb string) bool {
			return resource == "leases" && (verb == missing || missing == "watch" && verb == "list")
		}))
		args := deployedArgs(t, manifests.Sharded, manifests.Namespace)
		p := start(t, c.kubeconfigOf(t, manifests.Namespace), append(args,
			"--leader-elect-lease-duration=5s", "--shards=8", "-v=4", "--shard-identity=without-"+missing)...)
		eventually(t, func() error {
			return p.unready("grant get, list, watch, create, update and delete on leases",
				"in namespace "+manifests.Namespace)
		})
		s.service(missing, asking)
		require.NoError(t, s.none(missing))
		require.Error(t, p.said("Pinned"))
		c.install(t, manifests.Sharded, manifests.Namespace)
		eventually(t, p.ready)
		s.expect(missing, defaultHost, 80)
		p.terminate()
	}
}

// A replica that waits for a leader to go writes no Lease yet. It is not ready all the same if it may not.
func TestShards_AReplicaThatWaitsIsNotReadyWithoutTheRightsForLeases(t *testing.T) {
	c, err := newCluster(controlplane.StartGated(t, "ShardedListAndWatch=true"))
	require.NoError(t, err)
	c.install(t, manifests.Sharded, manifests.Namespace)
	leases, seconds, leader := c.client.CoordinationV1().Leases(manifests.Namespace), int32(3600), "a-leader"
	_, err = leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "ingress-controller"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &leader, LeaseDurationSeconds: &seconds},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	before, err := leases.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, missing := range []string{"create", "update", "delete"} {
		c.apply(t, manifestsOf(t, manifests.Sharded, manifests.Namespace, func(resource, verb string) bool {
			return resource == "leases" && verb == missing
		}))
		p := start(t, c.kubeconfigOf(t, manifests.Namespace), append(deployedArgs(t, manifests.Sharded, manifests.Namespace),
			"--leader-elect-lease-duration=5s", "--shards=8", "-v=4", "--shard-identity=without-"+missing)...)
		eventually(t, func() error {
			return p.unready("grant get, list, watch, create, update and delete on leases", "cannot "+missing)
		})
		c.install(t, manifests.Sharded, manifests.Namespace)
		eventually(t, p.ready)
		p.terminate()
	}
	after, err := leases.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, before.Items, after.Items)
}

// namespaceOf makes namespaces until one is in a shard of that replica, and returns it.
func (c *cluster) namespaceOf(t *testing.T, prefix, replica string) string {
	t.Helper()
	owners := shards.Assign(32, []string{"r0", "r1", "r2"})
	for {
		namespace := c.namespace(t, prefix)
		if owners[shard.Index(shard.Hash(namespace), 32)] == replica {
			return namespace
		}
	}
}

// allHeld wants the replicas to hold all shards between them, and to be ready.
func allHeld(replicas []*process, want float64) error {
	sum := 0.0
	for _, p := range replicas {
		held, err := p.metric("shards_held")
		if err != nil {
			return err
		}
		if err := p.ready(); err != nil {
			return err
		}
		sum += held
	}
	if sum != want {
		return fmt.Errorf("want %v shards to be held, got %v", want, sum)
	}
	return nil
}

// work is a reconcile. With uid a name that was made again has another shard, and is another Service.
type work struct {
	replica, shard int
	key            string
	from, upTo     time.Time
}

// neverTwice compares the replicas' logs: no two worked on one key at a time. ends are when each was known to be at work
// no more.
func neverTwice(t *testing.T, replicas []*process, ends []time.Time) {
	t.Helper()
	var all []work
	for n, p := range replicas {
		some := worked(p.log.String(), ends[n])
		require.NotEmpty(t, some)
		for i := range some {
			some[i].replica = n
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b work) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.shard, b.shard), a.from.Compare(b.from))
	})
	by := map[string]map[int]bool{}
	for i, w := range all {
		if by[w.key] == nil {
			by[w.key] = map[int]bool{}
		}
		by[w.key][w.replica] = true
		for _, next := range all[i+1:] {
			if next.key != w.key || next.shard != w.shard || !next.from.Before(w.upTo) {
				break
			}
			require.Equal(t, w.replica, next.replica, "%s is reconciled by two at a time: %+v and %+v", w.key, w, next)
		}
	}
	moved := 0
	for _, some := range by {
		if len(some) > 1 {
			moved++
		}
	}
	t.Logf("%d reconciles of %d keys, of which %d moved from one replica to another", len(all), len(by), moved)
	require.NotZero(t, moved)
}

// worked reads reconciles from a log. One that has no end there, as of a process that was killed, lasts until end.
func worked(log string, end time.Time) (all []work) {
	open := map[string]work{}
	for line := range strings.Lines(log) {
		var e struct {
			Ts    time.Time
			Msg   string
			Key   struct{ Namespace, Name string }
			Shard int
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		switch key := e.Key.Namespace + "/" + e.Key.Name; e.Msg {
		case "Pinned":
			open[key] = work{key: key, shard: e.Shard, from: e.Ts, upTo: end}
		case "Unpinned":
			w := open[key]
			w.upTo = e.Ts
			all = append(all, w)
			delete(open, key)
		}
	}
	return slices.AppendSeq(all, maps.Values(open))
}
