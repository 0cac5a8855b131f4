package memo

import (
	"hash/maphash"
	"math/rand/v2"
)

const (
	// window is how many parts of a field are counted before it is decided whether to go on.
	window = 512
	// worth is how many of them must be known for it to pay.
	worth = window / 4
	// pause is how many parts of a field are then decoded without the memo, before it is tried again. It doubles each
	// time, up to maxPause.
	pause    = 2048
	maxPause = pause << 5
	// Of so many pairs of parts is remembered that they came once: seenFirst pairs during the first fewObjects objects.
	seenOnce, seenFirst, fewObjects = 1 << 13, 1 << 10, 64
	// entryBytes is about what an entry costs beside its key and part.
	entryBytes = 64
)

// table keeps parts by the field and the bytes they came from.
//
//	bytes ──▶ [ young ] ──not there──▶ [ old ] ──not there──▶ decoded; if it is for the second time, put into young
//	              ▲ found: moves to young │
//	              └───────────────────────┘     when young is full it becomes old, and old is forgotten
//
// What comes once, as most does, leaves only a few bits of its hash; so does what one object has twice, such as the
// name of a volume, which else would be most of the table.
type table struct {
	limit       int
	size        int // of the young, in bytes
	objects     int // that have begun
	young, old  []map[string]part
	fields      []counts
	seed        maphash.Seed
	once        [][2]seen // by a part of their hashes
	asked, hits uint64
}

// seen is what is known of a part that came once.
type seen struct{ mark, object uint16 } // another part of its hash, and the lowest bits of the number of the object

// counts are what is known of a field.
type counts struct {
	asked, found int32 // in this window
	pause, next  int32 // parts to let pass, and how many it will be the next time
}

func newTable(limit, slots int) table {
	return table{
		limit: limit, seed: maphash.MakeSeed(), once: make([][2]seen, seenFirst),
		young: make([]map[string]part, slots), old: make([]map[string]part, slots), fields: make([]counts, slots),
	}
}

// begin counts an object. A table of few objects stays small.
func (t *table) begin() {
	t.objects++
	if t.objects == fewObjects {
		t.once = make([][2]seen, seenOnce)
	}
}

// wanted reports whether parts of a field are to be looked for.
func (t *table) wanted(slot int) bool {
	c := &t.fields[slot]
	if c.pause > 0 {
		c.pause--
		return false
	}
	return true
}

// get returns the part that came from these bytes, or whether it is to be put here once it is decoded.
func (t *table) get(slot int, data []byte) (p part, found, again bool) {
	p, found = t.young[slot][string(data)]
	if !found {
		if p, found = t.old[slot][string(data)]; found {
			t.put(slot, p.keyOf(data), p)
		}
	}
	t.count(slot, found)
	return p, found, !found && t.cameBefore(slot, data)
}

// cameBefore reports whether these bytes came a short while ago in another object, and notes that they came. It may
// be wrong in either way.
func (t *table) cameBefore(slot int, data []byte) bool {
	hash := maphash.Bytes(t.seed, data) + uint64(slot)*0x9E3779B97F4A7C15
	places, now := &t.once[hash%uint64(len(t.once))], seen{uint16(hash >> 48), uint16(t.objects)}
	for _, before := range places {
		if before.mark == now.mark {
			return before.object != now.object
		}
	}
	// Whichever it drives out: parts that come in turns must not drive each other out for ever.
	places[rand.Uint64()%uint64(len(places))] = now
	return false
}

// count lets a field rest that is seldom found.
func (t *table) count(slot int, found bool) {
	c := &t.fields[slot]
	t.asked++
	c.asked++
	if found {
		t.hits++
		c.found++
	}
	if c.asked < window {
		return
	}
	if c.found < worth {
		c.pause = max(c.next, pause)
		c.next = min(2*c.pause, maxPause)
	} else {
		c.next = pause
	}
	c.asked, c.found = 0, 0
}

// put remembers a part, unless it is larger than an eighth of the table.
func (t *table) put(slot int, key string, p part) {
	size := len(key) + entryBytes
	if !p.isKey() {
		size += int(p.size)
	}
	if size > t.limit/8 {
		return
	}
	if t.size+size > t.limit {
		t.young, t.old = t.old, t.young
		clear(t.young)
		t.size = 0
	}
	if t.young[slot] == nil {
		t.young[slot] = map[string]part{}
	}
	t.young[slot][key] = p
	t.size += size
}
