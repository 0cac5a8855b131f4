package ttlstore

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is what tests store.
type item struct {
	key     string
	version int
}

func itemKey(o *item) (string, error) {
	if o.key == "" {
		return "", errors.New("no key")
	}
	return o.key, nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func newTTL(ttl time.Duration) *Store[string, *item] {
	return New(Options[string, *item]{KeyFunc: itemKey, TTL: ttl})
}

func TestStore_AnObjectIsGoneOnceItIsOlderThanTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTTL(time.Minute)
		require.NoError(t, s.Add(&item{key: "a"}))
		<-time.After(time.Minute)
		_, ok := s.GetByKey("a")
		require.True(t, ok, "not older yet")
		<-time.After(1)
		_, ok = s.GetByKey("a")
		require.False(t, ok)
		_, ok, err := s.Get(&item{key: "a"})
		require.NoError(t, err)
		require.False(t, ok)
		require.Empty(t, s.List())
		require.Empty(t, s.ListKeys())
		require.Zero(t, s.Len())
	})
}

func TestStore_AWriteBeginsTheTimeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTTL(time.Minute)
		require.NoError(t, s.Add(&item{key: "a"}))
		require.NoError(t, s.Add(&item{key: "b"}))
		<-time.After(40 * time.Second)
		require.NoError(t, s.Update(&item{key: "a", version: 2}))
		s.GetByKey("b") // a read does not
		<-time.After(40 * time.Second)
		require.Equal(t, []string{"a"}, s.ListKeys())
	})
}

func TestStore_WithoutATTLNothingExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTTL(0)
		require.NoError(t, s.Add(&item{key: "a"}))
		<-time.After(1000 * time.Hour)
		require.Equal(t, 1, s.Len())
	})
}

// TestStore_HoldsNoMoreThanWasWrittenWithinATTL writes keys that nobody ever reads.
func TestStore_HoldsNoMoreThanWasWrittenWithinATTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTTL(time.Second)
		before := heap()
		for i := range 50_000 {
			require.NoError(t, s.Add(&item{key: fmt.Sprint(i)}))
			if i%100 == 99 {
				<-time.After(time.Second + 1)
				require.LessOrEqual(t, s.objs.Len(), 100)
			}
		}
		require.Less(t, heap()-before, int64(100_000))
		runtime.KeepAlive(s)
	})
}

func TestStore_ReplaceNamesObjectsWithoutAKeyAndKeepsTheRest(t *testing.T) {
	s := New(Options[string, *item]{KeyFunc: itemKey, Compare: strings.Compare})
	require.NoError(t, s.Add(&item{key: "old"}))
	require.ErrorContains(t, s.Replace([]*item{{key: "b"}, {}, {key: "a"}}, "7"), "object 1 of 3 has no key")
	require.Equal(t, []string{"a", "b"}, s.ListKeys())
	require.Equal(t, "7", s.ResourceVersion())
	s.Bookmark("")
	require.Equal(t, "7", s.ResourceVersion())
	s.Bookmark("9")
	require.Equal(t, "9", s.ResourceVersion())
}

// ttlModel keeps everything for ever and looks at the clock.
type ttlModel map[string]struct {
	obj *item
	at  time.Time
}

func (m ttlModel) living(ttl time.Duration) []*item {
	objs := []*item{}
	for _, e := range m {
		if ttl <= 0 || time.Since(e.at) <= ttl {
			objs = append(objs, e.obj)
		}
	}
	slices.SortFunc(objs, func(a, b *item) int { return cmp.Compare(a.version, b.version) })
	return objs
}

func TestStore_EqualsTheModelAtAllTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			ttl := time.Duration(rapid.IntRange(0, 5).Draw(rt, "ttl"))
			s, m, version, rv := newTTL(ttl), ttlModel{}, 0, ""
			draw := func() *item {
				version++
				return &item{key: fmt.Sprint("k", rapid.IntRange(0, 5).Draw(rt, "key")), version: version}
			}
			put := func(o *item) { m[o.key] = ttlModel{o.key: {o, time.Now()}}[o.key] }
			rt.Repeat(map[string]func(*rapid.T){
				"": func(rt *rapid.T) {
					// Half of the time nobody looks, so that writes find what has expired.
					if rapid.Bool().Draw(rt, "look") {
						require.Equal(rt, m.living(ttl), s.List(), "in the order of writing")
						require.Equal(rt, len(m.living(ttl)), s.Len())
					}
					require.Equal(rt, rv, s.ResourceVersion())
				},
				"add": func(*rapid.T) { o := draw(); put(o); require.NoError(rt, s.Add(o)) },
				"get": func(*rapid.T) {
					o := draw()
					got, ok := s.GetByKey(o.key)
					e := m[o.key]
					require.Equal(rt, e.obj != nil && slices.Contains(m.living(ttl), e.obj), ok)
					if ok {
						require.Same(rt, e.obj, got)
					}
				},
				"update":     func(*rapid.T) { o := draw(); put(o); require.NoError(rt, s.Update(o)) },
				"delete key": func(*rapid.T) { o := draw(); delete(m, o.key); s.DeleteKey(o.key) },
				"bookmark": func(*rapid.T) {
					version++
					rv = fmt.Sprint(version)
					s.Bookmark(rv)
					s.Bookmark("")
				},
				"delete": func(*rapid.T) { o := draw(); delete(m, o.key); require.NoError(rt, s.Delete(o)) },
				"replace": func(*rapid.T) {
					a, b := draw(), draw()
					clear(m)
					put(a)
					put(b)
					rv = fmt.Sprint(version)
					require.NoError(rt, s.Replace([]*item{a, b}, rv))
				},
				"wait": func(*rapid.T) { <-time.After(time.Duration(rapid.IntRange(1, 3).Draw(rt, "wait"))) },
			})
		})
	})
}
