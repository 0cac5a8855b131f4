package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	"glasswatch/tests/chaos/proxy"
)

// schedule is the meaning of a seed: the kind of informer, and its faults.
type schedule struct {
	seed      uint64
	queue     sharedinformer.QueueKind
	facade    bool // compat/cache's informer on client-go's clients
	streaming bool
	protobuf  bool

	// Of our own informer only.
	pages       bool // of three objects each
	smallFrames bool // a frame may have half the size of an oversize object
	checkpoint  bool
	resync      bool

	steps []step
}

// step is one event. The meaning of its fields depends on what.
type step struct {
	what   what
	key    listwatch.Key
	n      int
	pause  time.Duration
	faults []proxy.Fault
	settle bool // wait until all goroutines are blocked, before the next step
}

type what string

const (
	create    what = "create"
	update    what = "update"
	remove    what = "remove"
	burst     what = "burst"   // n updates in a row
	faults    what = "faults"  // planned
	cut       what = "cut"     // everything under way
	compact   what = "compact" // history and watches are gone
	backup    what = "backup"
	restore   what = "restore"
	panicNext what = "panic" // handler n
	stall     what = "stall" // handler n, for pause
	join      what = "join"  // a late handler
	leave     what = "leave" // handler n
	restart   what = "restart"
	fillDisk  what = "fill disk"
	freeDisk  what = "free disk"
	wait      what = "wait"
	listAgain what = "list again" // 410 for the next watch
	look      what = "look"       // faults wait until the store is the server's
)

// gate is what client-go's gate InOrderInformers must be.
func (s schedule) gate() bool { return !s.facade || s.queue == sharedinformer.InOrder }

// draw makes the schedule of a seed. The low bits rotate what is tried.
func draw(seed uint64) schedule {
	r := rand.New(rand.NewPCG(seed, 6))
	s := schedule{
		seed:        seed,
		queue:       sharedinformer.QueueKind(seed % 2),
		facade:      seed/2%2 == 1,
		streaming:   seed/4%2 == 0,
		protobuf:    seed/8%2 == 0,
		pages:       r.IntN(2) == 0,
		smallFrames: r.IntN(2) == 0,
		resync:      r.IntN(3) == 0 && seed/2%2 == 0,
	}
	s.checkpoint = !s.facade && s.queue == sharedinformer.InOrder
	for range 4 {
		s.steps = append(s.steps, step{what: create, key: drawKey(r)})
	}
	for _, w := range s.deck(r) {
		st := s.drawStep(r, w)
		s.steps = append(s.steps, st)
		if r.IntN(3) > 0 {
			s.steps = append(s.steps, s.drawStep(r, drawWrite(r)))
		}
		if w == faults && st.faults[0].Kind == proxy.Garbage { // the next list would repair its effect
			s.steps = append(s.steps, s.drawStep(r, look))
		}
		if r.IntN(3) == 0 {
			s.steps = append(s.steps, s.drawStep(r, wait))
		}
	}
	return s
}

// deck has the events besides writes, in random order: a share of each kind, so that each kind of fault can fire in
// each schedule.
func (s schedule) deck(r *rand.Rand) []what {
	shares := map[what]int{
		faults: 22, cut: 2, compact: 1, backup: 1, restore: 1, panicNext: 2, stall: 2, join: 1, leave: 1, restart: 1, listAgain: 3, burst: 2, look: 3,
	}
	if s.checkpoint {
		shares[fillDisk], shares[freeDisk] = 3, 1
	}
	var cards []what
	for _, w := range []what{faults, cut, compact, backup, restore, panicNext, stall, join, leave, restart, listAgain, burst, look, fillDisk, freeDisk} {
		for range shares[w] {
			cards = append(cards, w)
		}
	}
	r.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	return cards
}

func drawWrite(r *rand.Rand) what { return []what{create, update, update, update, remove}[r.IntN(5)] }

func drawKey(r *rand.Rand) listwatch.Key {
	return listwatch.Key{Namespace: []string{"default", "kube-system"}[r.IntN(2)], Name: string(rune('a' + r.IntN(5)))}
}

func (s schedule) drawStep(r *rand.Rand, w what) step {
	st := step{what: w, key: drawKey(r), n: r.IntN(40), settle: r.IntN(2) == 0}
	switch w {
	case faults:
		st.faults = s.drawFaults(r)
	case stall, wait:
		st.pause = time.Duration(r.Int64N(int64(40 * time.Second)))
		if r.IntN(10) == 0 {
			st.pause *= 10
		}
	}
	return st
}

// weights are how often a schedule tries each kind. Some kinds need a watch, a list, or the end of initial events.
var weights = map[proxy.Kind]int{
	proxy.Drop: 2, proxy.HalfFrame: 3, proxy.Garbage: 3, proxy.Oversize: 2, proxy.Slow: 2, proxy.Expired: 2, proxy.TooMany: 2, proxy.Internal: 2,
	proxy.BadGateway: 2, proxy.Unavailable: 2, proxy.Bookmarks: 3, proxy.NoInitialEnd: 6, proxy.Duplicate: 3,
}

func (s schedule) drawFaults(r *rand.Rand) []proxy.Fault {
	var bag []proxy.Kind
	for k := range proxy.Kinds {
		if k == proxy.NoInitialEnd && !s.streaming {
			continue
		}
		for range weights[k] {
			bag = append(bag, k)
		}
	}
	f := proxy.Fault{
		Kind:    bag[r.IntN(len(bag))],
		Variant: r.IntN(12),
		Pause:   time.Duration(1+r.IntN(8)) * time.Second,
	}
	if f.Kind == proxy.Slow && r.IntN(4) == 0 {
		f.Pause = 45 * time.Second // longer than a streaming list may be silent
	}
	n := 1
	if f.Kind == proxy.Expired {
		n = 1 + r.IntN(4) // a burst
	}
	var all []proxy.Fault
	for range n {
		all = append(all, f)
		f.Variant++
	}
	return all
}

// String tells the schedule, for people.
func (s schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: per-key queue %v", s.seed, s.queue == sharedinformer.PerKey)
	for _, word := range []struct {
		name string
		on   bool
	}{
		{"compat/cache", s.facade}, {"streaming lists", s.streaming}, {"protobuf", s.protobuf}, {"pages of three", s.pages && !s.facade},
		{"small frames", s.smallFrames && !s.facade}, {"checkpoint", s.checkpoint}, {"resync", s.resync && !s.facade},
	} {
		if word.on {
			b.WriteString(", " + word.name)
		}
	}
	for i, st := range s.steps {
		fmt.Fprintf(&b, "\n%3d %s", i, st)
	}
	return b.String()
}

func (s step) String() string {
	settle := ""
	if s.settle {
		settle = ", and settle"
	}
	switch s.what {
	case create, update, remove:
		return fmt.Sprintf("%s %s%s", s.what, s.key, settle)
	case faults:
		return fmt.Sprintf("plan %d × %s, variant %d, pause %v%s", len(s.faults), s.faults[0].Kind, s.faults[0].Variant, s.faults[0].Pause, settle)
	case wait:
		return fmt.Sprintf("wait %v", s.pause)
	}
	return fmt.Sprintf("%s (%s, %d, %v)%s", s.what, s.key, s.n, s.pause, settle)
}
