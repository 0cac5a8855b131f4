package undecoded

import (
	"encoding/json"
	"hash/maphash"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch/memo"
	"glasswatch/listwatch/wire"
)

// Sharing decodes objects that share equal parts. While it guards them, it keeps a fingerprint of each part from before
// anybody could write to it. Its methods must not be called at the same time.
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
	if !s.guarding {
		return
	}
	switch part.(type) {
	case []metav1.ManagedFieldsEntry, metav1.ManagedFieldsEntry, *metav1.FieldsV1:
		// They are large and often dropped. Nobody gets those that others share.
	default:
		s.guarded = append(s.guarded, fingerprint{part, sumOf(part)})
	}
}

// Guard begins to guard the parts that are shared from now on, or ends it.
func (s *Sharing) Guard(on bool) { s.guarding, s.guarded = on, nil }

// Intact reports whether all parts that were guarded hold what they held, as far as JSON shows it: nil and empty are
// the same to it, and so are time zones. It forgets the parts.
func (s *Sharing) Intact() bool {
	guarded := s.guarded
	s.guarded = nil
	for _, was := range guarded {
		if sumOf(was.part) != was.sum {
			return false
		}
	}
	return true
}

// Renew has objects that are decoded from now on share nothing with those from before.
func (s *Sharing) Renew() { s.decoder, s.guarded = s.newDecoder(), nil }

var seed = maphash.MakeSeed()

// sumOf of what cannot be written as JSON differs from call to call, so that it counts as written to.
func sumOf(part any) uint64 {
	text, err := json.Marshal(part)
	if err != nil {
		return rand.Uint64()
	}
	return maphash.Bytes(seed, text)
}
