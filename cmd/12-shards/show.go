package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/cmd/internal/demo"
	"glasswatch/listwatch/shard"
)

// showOwners prints whom the fences name.
func (w *world) showOwners() {
	owners := w.Owners()
	rows := [][]string{{"replica", "shards", "namespaces"}}
	for _, name := range w.living() {
		shards, services, namespaces := 0, 0, map[string]bool{}
		for _, owner := range owners {
			if owner == name {
				shards++
			}
		}
		for _, s := range w.services {
			if owners[s.shard] == name {
				services++
				namespaces[s.namespace] = true
			}
		}
		rows = append(rows, []string{
			name, fmt.Sprint(shards), fmt.Sprint(len(namespaces)), fmt.Sprintf("%5d Services", services)})
	}
	w.d.Table(rows...)
}

// moment is who owned which shard, and how many lists each replica had sent.
type moment struct {
	owners []string
	lists  map[string]int
}

func (w *world) now() moment { return moment{w.Owners(), w.Lists()} }

// showMoves prints what each replica has lost and got since a moment, and how often it listed Services or Ingresses.
// All that has moved was this replica's, or is now.
func (w *world) showMoves(before moment, replica string) {
	after, others := w.now(), 0
	lost, got := map[string]int{}, map[string]int{}
	for shard, from := range before.owners {
		if to := after.owners[shard]; from != to {
			lost[from]++
			got[to]++
			if from != replica && to != replica {
				others++
			}
		}
	}
	rows := [][]string{{"replica", "lost", "got"}}
	for _, name := range slices.Sorted(maps.Keys(w.replicas)) {
		if lost[name]+got[name] > 0 {
			rows = append(rows, []string{name, fmt.Sprint(lost[name]), fmt.Sprint(got[name]),
				fmt.Sprintf("%3d lists", after.lists[name]-before.lists[name])})
		}
	}
	w.d.Table(rows...)
	w.d.Saw("shards that moved, but neither from nor to %s: %d of %d", replica, others, shardCount)
}

// showWaits prints how long the Services of a part waited for their Ingress: from before their change was sent to when
// a watch showed it. Those in shards of one replica, according to owners, have a row of their own; "" is none.
func (w *world) showWaits(part int, owners []string, replica string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var theirs, others []time.Duration
	for _, s := range w.part(part) {
		if owners[s.shard] == replica {
			theirs = append(theirs, s.waited)
		} else {
			others = append(others, s.waited)
		}
	}
	what := "all others"
	if len(theirs) == 0 {
		what = "all"
	}
	rows := [][]string{{"waited", "   median", "  longest"}}
	for _, some := range []struct {
		waits []time.Duration
		what  string
	}{{theirs, "those of " + replica}, {others, what}} {
		if n := len(some.waits); n > 0 {
			slices.Sort(some.waits)
			rows = append(rows, []string{
				some.what, demo.Millis(some.waits[n/2]), demo.Millis(some.waits[n-1]), fmt.Sprintf("%5d Services", n)})
		}
	}
	w.d.Table(rows...)
}

// part is the Services of a part, or all.
func (w *world) part(part int) (some []*service) {
	for _, s := range w.services {
		if part == all || s.part == part {
			some = append(some, s)
		}
	}
	return some
}

// showNames prints that names which differ at their end only are not divided.
func (w *world) showNames() {
	shards := map[int]bool{}
	for n := range w.namespaces {
		shards[shard.Index(shard.Hash(fmt.Sprintf("shop-%03d", n)), shardCount)] = true
	}
	w.d.Saw("the namespaces are 000-shop, 001-shop, …; as shop-000, shop-001, … they would be in %d of %d shards",
		len(shards), shardCount)
	w.d.Why("the server's hash is FNV-1a. The last letters of a name hardly reach the hash's highest bits, and " +
		"ranges go by these. UIDs are random, so they have no such trouble")
}

// forgotten counts the Services whose Ingress the server does not have as the last change asks for.
func (w *world) forgotten(ctx context.Context) int {
	list := demo.Must(w.d.Client.NetworkingV1().Ingresses(w.watched).List(ctx, metav1.ListOptions{}))
	w.mu.Lock()
	defer w.mu.Unlock()
	right := 0
	for _, ing := range list.Items {
		s := w.byKey[ing.Namespace+"/"+ing.Name]
		if s != nil && len(ing.Spec.Rules) == 1 && ing.Spec.Rules[0].Host == s.host {
			right++
		}
	}
	return len(w.services) - right
}
