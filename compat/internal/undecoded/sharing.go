package undecoded

import (
	"encoding/json"
	"hash/maphash"

	"glasswatch/listwatch/memo"
	"glasswatch/listwatch/wire"
)

// Sharing decodes objects that share equal parts. While it guards them, it keeps a fingerprint of each part from before
// anybody could write to it. Its methods must not be called at the same time; all but Guard are for the goroutine that
// lists and watches.
type Sharing struct {
	decoder  wire.Decoder
	used     bool
	guarding bool
	guarded  []fingerprint
}

// fingerprint is what a part held when the first object got it.
type fingerprint struct {
	part any
	sum  uint64
}

// NewSharing returns a Sharing that guards nothing.
func NewSharing() *Sharing {
	s := &Sharing{}
	s.decoder = s.newDecoder()
	return s
}

func (s *Sharing) newDecoder() wire.Decoder { return memo.New(memo.Options{OnShare: s.note}) }

// HasShared reports whether an object was decoded.
func (s *Sharing) HasShared() bool { return s.used }

// Unmarshal implements wire.Decoder.
func (s *Sharing) Unmarshal(data []byte, into interface{ Unmarshal([]byte) error }) error {
	s.used = true
	return s.decoder.Unmarshal(data, into)
}

func (s *Sharing) note(part any) {
	if s.guarding {
		s.guarded = append(s.guarded, fingerprint{part, sumOf(part)})
	}
}

// Guard guards the parts that are shared from now on.
func (s *Sharing) Guard() { s.guarding = true }

// Intact stops guarding, and reports whether all parts hold what they held. If one does not, objects that are decoded
// from now on share nothing with those from before.
func (s *Sharing) Intact() bool {
	guarded := s.guarded
	s.guarding, s.guarded = false, nil
	for _, was := range guarded {
		if sumOf(was.part) != was.sum {
			s.decoder = s.newDecoder()
			return false
		}
	}
	return true
}

var seed = maphash.MakeSeed()

// sumOf does not tell nil from empty. Of the types of Kubernetes all can be written as JSON.
func sumOf(part any) uint64 {
	text, _ := json.Marshal(part)
	return maphash.Bytes(seed, text)
}
