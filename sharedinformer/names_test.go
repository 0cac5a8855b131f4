package sharedinformer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNameSet_GivesTheLowestFreeNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s nameSet
		var taken []string
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b", "a#2"}).Draw(t, "name")
				want := name
				for n := 2; slices.Contains(taken, want); n++ {
					want = fmt.Sprintf("%s#%d", name, n)
				}
				if got := s.take(name); got != want {
					t.Fatalf("want %s, got %s of %v", want, got, taken)
				}
				taken = append(taken, want)
			},
			"give": func(t *rapid.T) {
				if len(taken) == 0 {
					t.Skip("none is taken")
				}
				at := rapid.IntRange(0, len(taken)-1).Draw(t, "at")
				s.give(taken[at])
				taken = slices.Delete(taken, at, at+1)
			},
			"": func(t *rapid.T) {
				if len(taken) == 0 && len(s.used)+len(s.free) > 0 {
					t.Fatalf("%v %v is left of nothing", s.used, s.free)
				}
			},
		})
	})
}

func TestHandler_TenThousandOfOneNameRegisterInNoTime(t *testing.T) {
	i := New[*config](newServer(), Options[*config]{})
	for n := range 10_000 {
		r, err := i.AddHandler(HandlerFuncs[*config]{}, HandlerOptions{Name: "web"})
		require.NoError(t, err)
		if n > 0 {
			require.Equal(t, fmt.Sprintf("web#%d", n+1), r.Name())
		}
	}
}
