package indexer

import "slices"

// posting lists the slots filed under one value, in no order and without holes. The first 256 are in head, which starts
// small; a tail chunk holds 256 more.
type posting struct {
	epoch uint64 // of head and of the list of tail chunks
	value string
	n     uint32 // Invariant: not 0 between two writes
	head  []uint32
	tail  []*postingChunk
}

type postingChunk struct {
	epoch uint64
	slots [chunkLen]uint32
}

// len is how many slots there are, none in nil.
func (p *posting) len() int {
	if p == nil {
		return 0
	}
	return int(p.n)
}

// copyFor returns a posting that can be written and shares its tail chunks with p.
func (p *posting) copyFor(w *clock) *posting {
	w.copies++
	return p.clone(w.now)
}

func (p *posting) clone(epoch uint64) *posting {
	next := *p
	next.epoch = epoch
	next.head = slices.Clone(p.head)
	next.tail = slices.Clone(p.tail)
	return &next
}

// The methods below want a posting that no snapshot shares; of its tail chunks they copy what is shared.

func (p *posting) at(pos uint32) uint32 {
	if pos < chunkLen {
		return p.head[pos]
	}
	return p.tail[pos/chunkLen-1].slots[pos%chunkLen]
}

func (p *posting) set(pos, slot uint32, w *clock) {
	if pos < chunkLen {
		p.head[pos] = slot
		return
	}
	c := pos/chunkLen - 1
	ch := p.tail[c]
	if w.shares(ch.epoch) {
		w.copies++
		ch = &postingChunk{epoch: w.now, slots: ch.slots}
		p.tail[c] = ch
	}
	ch.slots[pos%chunkLen] = slot
}

// push returns the position of slot.
func (p *posting) push(slot uint32, w *clock) uint32 {
	pos := p.n
	p.n++
	switch {
	case pos < chunkLen:
		p.head = append(p.head, slot)
		return pos
	case int(pos/chunkLen-1) == len(p.tail):
		p.tail = append(p.tail, &postingChunk{epoch: w.now})
	}
	p.set(pos, slot, w)
	return pos
}

func (p *posting) pop() {
	p.n--
	if p.n < chunkLen {
		p.head = p.head[:p.n]
		if c := cap(p.head); c > 8 && int(p.n)*4 <= c {
			p.head = append(make([]uint32, 0, c/2), p.head...)
		}
	}
	// Like a vec's: a chunk goes once the one before it is half empty.
	if p.n%chunkLen == chunkLen/2 {
		if keep := int(p.n / chunkLen); keep < len(p.tail) {
			p.tail = slices.Delete(p.tail, keep, len(p.tail))
			if len(p.tail)*4 <= cap(p.tail) {
				p.tail = slices.Clone(p.tail)
			}
		}
	}
}

// chunk returns the slots of positions 256·c and up.
func (p *posting) chunk(c int) []uint32 {
	if c == 0 {
		return p.head
	}
	return p.tail[c-1].slots[:min(chunkLen, int(p.n)-c*chunkLen)]
}

func (p *posting) chunks() int { return (int(p.n) + chunkLen - 1) / chunkLen }
