package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch/shard"
)

const (
	namespaces = 1000
	apps       = 50
	// replaceEvery is how often an object is deleted and made anew, rather than updated. It then has another UID, and
	// so may belong to another shard.
	replaceEvery = 20
	// sentKey is the entry of Data that says when the object was written, in nanoseconds.
	sentKey = "sent"
	pulse   = 5 * time.Millisecond // between two batches of changes
)

var configmaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// itemAt is the i-th object: about as much as a Lease or a small ConfigMap holds.
func itemAt(i int, sent time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(i), Name: nameOf(i),
			Labels: map[string]string{"app.kubernetes.io/name": fmt.Sprintf("app-%02d", i%apps)},
		},
		Data: map[string]string{sentKey: strconv.FormatInt(sent.UnixNano(), 10)},
	}
}

func namespaceOf(i int) string { return fmt.Sprintf("tenant-%03d", i%namespaces) }

func nameOf(i int) string { return fmt.Sprintf("item-%07d", i) }

// population is the objects of a server, and what changes them. One goroutine may use it at a time, except changes.
type population struct {
	server  *apiserver.Server
	present []uint64 // what each object adds to the sum
	state   state
	random  *rand.Rand
	changes atomic.Int64
}

// state is what a store holds. Two stores hold the same if their states are equal, and the states of a store's parts
// are added up by plus.
type state struct {
	Objects int
	Sum     uint64 // of the objects' UIDs and resourceVersions, in any order
}

func (s state) plus(other state) state { return state{s.Objects + other.Objects, s.Sum + other.Sum} }

// addend is what an object adds to a sum.
func addend(obj *corev1.ConfigMap) uint64 {
	return shard.Hash(string(obj.UID) + "/" + obj.ResourceVersion)
}

func (s *state) add(obj *corev1.ConfigMap) { *s = s.plus(state{1, addend(obj)}) }

// populate gives a server n objects, in n namespaces at most.
func populate(server *apiserver.Server, n int) (*population, error) {
	p := &population{server: server, present: make([]uint64, n), random: rand.New(rand.NewPCG(1, uint64(n)))}
	var names []string
	for i := range min(n, namespaces) {
		names = append(names, namespaceOf(i))
	}
	if err := server.SeedNamespaces(names...); err != nil {
		return nil, err
	}
	began := time.Now()
	for i := range n {
		// Each says another time: equal parts would be shared.
		if err := p.write(i, began.Add(time.Duration(i))); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// write creates the i-th object, or updates it.
func (p *population) write(i int, sent time.Time) error {
	obj := itemAt(i, sent)
	if err := p.server.Seed(configmaps, obj); err != nil {
		return err
	}
	if p.present[i] == 0 {
		p.state.Objects++
	}
	sum := addend(obj)
	p.state.Sum += sum - p.present[i]
	p.present[i] = sum
	return nil
}

// remove deletes the i-th object.
func (p *population) remove(i int) error {
	if err := p.server.Unseed(configmaps, namespaceOf(i), nameOf(i)); err != nil {
		return err
	}
	p.state = p.state.plus(state{-1, -p.present[i]})
	p.present[i] = 0
	return nil
}

// change changes an object by chance, in one write or in two, and returns how many.
func (p *population) change() (int, error) {
	i := p.random.IntN(len(p.present))
	if p.random.IntN(replaceEvery) > 0 {
		return 1, p.write(i, time.Now())
	}
	if err := p.remove(i); err != nil {
		return 0, err
	}
	return 2, p.write(i, time.Now())
}

// churn makes rate changes a second until ctx ends. If the machine does not get there, it makes up for them later.
func (p *population) churn(ctx context.Context, rate int) error {
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	began, done := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for due := int(time.Since(began).Seconds() * float64(rate)); done < due; {
			n, err := p.change()
			if err != nil {
				return err
			}
			done += n
			p.changes.Add(int64(n))
		}
	}
}
