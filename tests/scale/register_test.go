package scale

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// register follows the Leases at the server, and judges each change of a term when it happens. So it knows what was
// written in a step although it was undone in the same one.
//
//   - A member's Lease gets another term only if the step did something to that member, and none that it had before.
//   - A fence gets another term only if the former one was over, or the other one has begun in this step, or its Lease
//     had not been renewed for as long as it lasts: it has come back, or one that came back does not know yet that
//     others took it for dead.
//   - No step moves a shard twice from one term to the same other one, unless one of the two came back in between.
type register struct {
	start time.Time
	stop  context.CancelFunc
	ended chan struct{}

	mu         sync.Mutex        // guards the rest
	terms      map[string]string // that members' Leases name, by identity; not if it is none
	renewed    map[string]time.Time
	fences     map[string]string // likewise that fences name, by the name of the Lease
	over       map[string]bool   // terms that members' Leases have named and do not name any more
	concerned  map[string]bool   // identities to which this step has done something
	everybody  bool              // it changes the number of shards
	begun      map[string]int    // terms that have begun in this step or have come back, and how often
	moves      map[move]bool     // of this step, from a term to another
	complaints []string
}

// expires is when the member with the fastest clock takes another for dead whose renewals it sees late.
const expires = (leaseSeconds-1)*time.Second - calmLatency

// move is that a shard moves from one term to another, after these have begun so often.
type move struct {
	fence, from, to string
	begun           int
}

func newRegister(leases coordinationv1client.LeaseInterface) *register {
	ctx, stop := context.WithCancel(context.Background())
	r := &register{
		start: time.Now(), stop: stop, ended: make(chan struct{}),
		terms: map[string]string{}, fences: map[string]string{},
		renewed: map[string]time.Time{}, over: map[string]bool{},
	}
	r.Begin()
	w, err := leases.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		panic(err)
	}
	go func() {
		defer close(r.ended)
		defer w.Stop()
		for e := range w.ResultChan() {
			if l, ok := e.Object.(*coordinationv1.Lease); ok {
				r.note(l, e.Type == watch.Deleted)
			}
		}
		if ctx.Err() == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.complain("the watch of the checks has ended")
		}
	}()
	return r
}

// Begin begins a step.
func (r *register) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.concerned, r.begun, r.moves, r.everybody = map[string]bool{}, map[string]int{}, map[move]bool{}, false
}

// Concern says that this step does something to a member.
func (r *register) Concern(identity string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.concerned[identity] = true
}

// ConcernAll says that this step changes the number of shards, so that fences become free although their owners live.
func (r *register) ConcernAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.everybody = true
}

func (r *register) complain(format string, args ...any) {
	if len(r.complaints) < 5 {
		r.complaints = append(r.complaints, fmt.Sprintf("at %v: ", time.Since(r.start))+fmt.Sprintf(format, args...))
	}
}

func (r *register) note(l *coordinationv1.Lease, deleted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	term := ptr.Deref(l.Spec.HolderIdentity, "")
	if deleted {
		term = ""
	}
	if identity, ok := strings.CutPrefix(l.Name, "sim-member-"); ok {
		r.noteMember(identity, term)
		set(r.terms, identity, term)
		return
	}
	from := r.fences[l.Name]
	r.noteMove(move{l.Name, from, term, r.begun[from] + r.begun[term]})
	set(r.fences, l.Name, term)
}

func set(terms map[string]string, name, term string) {
	if delete(terms, name); term != "" {
		terms[name] = term
	}
}

func (r *register) noteMember(identity, term string) {
	unrenewed := time.Since(r.renewed[identity])
	r.renewed[identity] = time.Now()
	if term != "" && (term != r.terms[identity] || unrenewed > expires) {
		r.begun[term]++
	}
	if term == r.terms[identity] {
		return
	}
	if r.over[r.terms[identity]] = true; term != "" && r.over[term] {
		r.complain("the term %q of %s was over, and comes again", term, identity)
	}
	if !r.concerned[identity] && !r.everybody {
		r.complain("the Lease of %s comes to name %q, and nothing was done to it", identity, term)
	}
}

func (r *register) noteMove(m move) {
	from, _, _ := strings.Cut(m.from, "/")
	to, _, _ := strings.Cut(m.to, "/")
	isOver := m.from == "" || r.terms[from] != m.from
	maybeDead := m.to != "" && time.Since(r.renewed[to]) > expires
	switch {
	case m.from == m.to:
		return
	case !isOver && r.begun[m.to] == 0 && !maybeDead && !(m.to == "" && r.everybody):
		r.complain("%s need not move from %q to %q", m.fence, m.from, m.to)
	case r.moves[m] && m.from != "" && m.to != "":
		r.complain("%s moves twice from %q to %q", m.fence, m.from, m.to)
	}
	r.moves[m] = true
}

// Named returns the terms of the members' Leases, by identity, and those of fences, by the Lease's name.
func (r *register) Named() (terms, fences map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.terms), maps.Clone(r.fences)
}

func (r *register) Complaints() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.complaints
}

// ExpectFairMoves checks that a step in which one of n members came or went has moved about its share of the shards,
// each once, from it or to it.
func (r *register) ExpectFairMoves(identity string, n, shards int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	moved := map[string]bool{}
	for m := range r.moves {
		if !strings.HasPrefix(m.from, identity+"/") && !strings.HasPrefix(m.to, identity+"/") || moved[m.fence] {
			return fmt.Errorf("%s comes or goes: %s moves from %q to %q", identity, m.fence, m.from, m.to)
		}
		moved[m.fence] = true
	}
	fair := float64(shards) / float64(n)
	if limit := fair + 5*math.Sqrt(fair); float64(len(moved)) > limit {
		return fmt.Errorf("%s comes or goes: %d shards move, more than %.0f", identity, len(moved), limit)
	}
	return nil
}

// Close ends the watch.
func (r *register) Close() {
	r.stop()
	<-r.ended
}
