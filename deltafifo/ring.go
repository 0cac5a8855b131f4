package deltafifo

// minKept is the number of entries up to which a queue keeps its memory for reuse, however little it is used.
const minKept = 1024

// wasteful tells whether memory for have entries, of which a whole fill-and-empty round used only used, should go.
func wasteful(have, used int) bool { return have > minKept && used < have/4 }

// ring is a first-in-first-out queue in a slice that it goes round in. The zero value is empty and ready.
type ring[E any] struct {
	// Invariant: len(buf) is zero or a power of two; slots outside [head, head+n) are zero, so that what was popped can
	// be collected.
	buf  []E
	head int
	n    int
	// peak is the greatest n since the ring was last empty.
	peak int
}

func (r *ring[E]) len() int { return r.n }

// at returns the i-th oldest entry.
func (r *ring[E]) at(i int) E { return r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring[E]) push(e E) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = e
	r.n++
	r.peak = max(r.peak, r.n)
}

func (r *ring[E]) grow() {
	buf := make([]E, max(16, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = r.at(i)
	}
	r.buf, r.head = buf, 0
}

// pop takes the oldest entry of a ring that has one.
func (r *ring[E]) pop() E {
	e := r.buf[r.head]
	var zero E
	r.buf[r.head] = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	if r.n == 0 {
		if wasteful(len(r.buf), r.peak) {
			r.buf = nil
		}
		r.head, r.peak = 0, 0
	}
	return e
}
