package indexer

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
)

func filled(t testing.TB, n int) *Store[string, *item] {
	s := newItems(Indexers[*item]{"group": byGroup, "tags": byTags})
	objs := make([]*item, n)
	for i := range objs {
		objs[i] = &item{key: fmt.Sprint(i), group: "g", tags: []string{fmt.Sprint("t", i)}}
	}
	require.NoError(t, s.Replace(objs, "1"))
	return s
}

// copied counts the arrays of chunks that were made while f ran.
func copied[K comparable, T any](s *Store[K, T], f func()) (n int) {
	before := arraysOf(s)
	f()
	for array := range arraysOf(s) {
		if !before[array] {
			n++
		}
	}
	return n
}

func arraysOf[K comparable, T any](s *Store[K, T]) map[any]bool {
	arrays := map[any]bool{}
	addArrays(arrays, &s.content.keys)
	addArrays(arrays, &s.content.objs)
	for _, ix := range s.content.indices {
		addArrays(arrays, &ix.filed)
	}
	return arrays
}

func addArrays[E any](arrays map[any]bool, c *table[E]) {
	for _, ch := range c.chunks {
		arrays[&ch.entries[0]] = true
	}
}

func TestWrite_CopiesAChunkOncePerSnapshotAndNothingWithout(t *testing.T) {
	const n = 5000
	s := filled(t, n)
	updateAll := func() {
		for i := range n {
			_ = s.Update(&item{key: fmt.Sprint(i), version: 1, group: "g", tags: []string{fmt.Sprint("t", i)}})
		}
	}
	require.Zero(t, copied(s, updateAll), "nobody has read")
	const chunks = (n + chunkLen - 1) / chunkLen
	for range 3 {
		s.Snapshot()
		s.Snapshot()
		require.Equal(t, chunks, copied(s, updateAll), "only the objects' chunks: keys and indices stay as they are")
		require.Zero(t, copied(s, updateAll))
	}
	for range s.All() {
		require.Equal(t, chunks, copied(s, updateAll), "All shares while it runs")
		break
	}
	require.Zero(t, copied(s, updateAll))
	for range 1000 {
		s.GetByKey("1")
		_, _ = s.ByIndex("tags", "t1")
		_, _ = s.Index("tags", &item{tags: []string{"t1", "t2"}})
		s.Len()
	}
	require.Zero(t, copied(s, updateAll), "lookups take no snapshot")
}

func TestSnapshot_IsTheSameForAReaderThatWaitedForAnother(t *testing.T) {
	s := filled(t, 1)
	require.Same(t, s.takeMoment(), s.takeMoment())
}

func TestIndex_FindsEachObjectOnceHoweverManyValuesItShares(t *testing.T) {
	s := newItems(Indexers[*item]{"tags": byTags})
	for i := range 3 * chunkLen {
		tags := []string{"all", fmt.Sprint("few", i/5), fmt.Sprint("many", i%2)}
		require.NoError(t, s.Add(&item{key: fmt.Sprint(i), tags: tags}))
	}
	for tags, want := range map[string]int{
		"": 0, "nowhere": 0, "few0 few0": 5, "few0 few1 nowhere": 10, "few0 many0": chunkLen*3/2 + 2, "many1 all few0": chunkLen * 3,
	} {
		found, err := s.Index("tags", &item{tags: strings.Fields(tags)})
		require.NoError(t, err)
		keys := map[string]bool{}
		for _, o := range found {
			keys[o.key] = true
		}
		require.Len(t, found, want, tags)
		require.Len(t, keys, want, tags)
	}
	_, err := s.Index("unknown", &item{})
	require.EqualError(t, err, `indexer: there is no index "unknown"`)
}

func TestAll_ShowsOneMomentHoweverManyAreReadMeanwhile(t *testing.T) {
	s := filled(t, 1000)
	n := 0
	for key, o := range s.All() {
		require.Zero(t, o.version, key)
		for range 10 {
			s.List()
			require.NoError(t, s.Update(&item{key: fmt.Sprint(n), version: 1, group: "g"}))
			require.NoError(t, s.Update(&item{key: fmt.Sprint(999 - n), version: 1, group: "g"}))
		}
		n++
	}
	require.Equal(t, 1000, n)
}

func TestSnapshot_StaysAfterLaterReadersHaveLeft(t *testing.T) {
	s := filled(t, 1000)
	snap := s.Snapshot()
	for i := range 1000 {
		_ = s.Update(&item{key: fmt.Sprint(999 - i), version: 1, group: "h"})
		s.List()
	}
	for key, o := range snap.All() {
		require.Zero(t, o.version, key)
	}
	group, err := snap.ByIndex("group", "g")
	require.NoError(t, err)
	n := 0
	for range group {
		n++
	}
	require.Equal(t, 1000, n)
}

func TestWrite_CopiesLittleOfAHugeSet(t *testing.T) {
	const n = 20_000 // all in group g: a set of as many slots
	s := filled(t, n)
	for i := range 5 {
		snap := s.Snapshot()
		move := func() { _ = s.Update(&item{key: fmt.Sprint(i * 997), group: "elsewhere"}) }
		require.LessOrEqual(t, copied(s, move), 10)
		require.Equal(t, n, snap.Len())
	}
	checkInvariants(t, s)
}

func TestUpdate_WithTheSameIndexValuesAllocatesNothing(t *testing.T) {
	s := filled(t, 1000)
	a := &item{key: "7", group: "g", tags: []string{"t7", "u7", "t7"}}
	require.NoError(t, s.Update(a))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = s.Update(a) }))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for range s.Snapshot().All() {
		}
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() { s.GetByKey("7") }))
}

func TestAdd_KeepsNoValueThatAnIndexFunctionDidNotReturn(t *testing.T) {
	s := newItems(Indexers[*item]{"one": func(_ *item, dst []string) ([]string, error) {
		return append(dst, "returned", "not returned")[:1], nil
	}})
	for range 2 {
		require.NoError(t, s.Add(&item{key: "a"}))
		for _, kept := range s.answers.scratch[:cap(s.answers.scratch)] {
			require.Empty(t, kept)
		}
	}
}

func TestApply_OfAFullBatchWithTheSameIndexValuesAllocatesNothing(t *testing.T) {
	s := filled(t, 1000)
	var ops []Op[string, *item]
	for i := range 1000 {
		key := fmt.Sprint(i)
		ops = append(ops, Op[string, *item]{Key: key, Obj: &item{key: key, group: "g", tags: []string{"t" + key}}})
	}
	s.Apply(ops, "")
	require.Zero(t, testing.AllocsPerRun(10, func() { s.Apply(ops, "") }))
	require.Zero(t, s.answers.strings[:cap(s.answers.strings)][0], "a string of the last batch is kept")
}

// TestUpdate_CopiesNoChunkThatIsNewerThanTheSnapshot also covers the chunks that a later write begins.
func TestUpdate_CopiesNoChunkThatIsNewerThanTheSnapshot(t *testing.T) {
	s := newItems(nil)
	require.NoError(t, s.Add(&item{key: "old"}))
	s.Snapshot()
	for i := range 2 * chunkLen {
		require.NoError(t, s.Add(&item{key: fmt.Sprint(i)}))
	}
	last := &item{key: fmt.Sprint(2*chunkLen - 1)}
	require.Zero(t, copied(s, func() { _ = s.Update(last) }))
}

func TestUpdate_NeverAsksTheIndexFunctionForTheOldObject(t *testing.T) {
	var asked []int
	s := newItems(Indexers[*item]{"group": func(o *item, dst []string) ([]string, error) {
		asked = append(asked, o.version)
		return append(dst, o.group), nil
	}})
	for version := range 3 {
		require.NoError(t, s.Update(&item{key: "a", version: version, group: fmt.Sprint(version)}))
	}
	s.DeleteKey("a")
	require.Equal(t, []int{0, 1, 2}, asked)
	require.Empty(t, s.ListIndexValues("group"))
}

// TestStore_EqualsTheModelAcrossChunks is the model test at a size where everything spans many chunks.
func TestStore_EqualsTheModelAcrossChunks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	x := newMachine(3000)
	require.NoError(t, x.s.AddIndexers(Indexers[*item]{"tags": byTags}))
	x.m.indexers["tags"] = byTags
	random := func() *item {
		x.version++
		key := fmt.Sprint("k", rnd.IntN(x.keys))
		return &item{key: key, version: x.version, group: []string{"a", "b", "bad"}[rnd.IntN(3)],
			tags: []string{fmt.Sprint("t", rnd.IntN(400)), "all", "own" + key}[:rnd.IntN(4)]}
	}
	for round := range 60 {
		grow := round%12 < 7
		for range 300 {
			o := random()
			if rnd.IntN(10) < 2 == grow {
				x.s.DeleteKey(o.key)
				delete(x.m.items, o.key)
			} else {
				require.NoError(t, x.s.Add(o))
				x.put(o)
			}
		}
		if round%12 == 11 { // nearly empty it
			for key := range x.m.items {
				if rnd.IntN(20) > 0 {
					x.s.DeleteKey(key)
					delete(x.m.items, key)
				}
			}
		}
		if round%20 == 19 {
			objs := []*item{}
			for range 2500 {
				objs = append(objs, random())
			}
			x.m.items, x.m.rv = map[string]*item{}, fmt.Sprint(round)
			for _, o := range objs {
				x.m.items[o.key] = o
			}
			require.NoError(t, x.s.Replace(objs, x.m.rv))
		}
		if round%5 == 0 {
			x.moments = append(x.moments[max(0, len(x.moments)-2):], keptSnapshot{x.s.Snapshot(), x.m.clone()})
		}
		checkInvariants(t, x.s)
		for _, mo := range x.moments {
			compareLarge(t, mo.snap, mo.want)
		}
		compareLarge(t, freshSnapshot(x.s), x.m)
	}
}

func compareLarge(t testing.TB, s Snapshot[string, *item], m *model) {
	t.Helper()
	want := map[[2]string][]string{}
	for key, o := range m.items {
		for name := range m.indexers {
			for _, v := range m.valuesOf(name, o) {
				want[[2]string{name, v}] = append(want[[2]string{name, v}], key)
			}
		}
	}
	n := 0
	for key, o := range s.All() {
		if n++; m.items[key] != o {
			t.Fatalf("%s is %v, want %v", key, o, m.items[key])
		}
		if got, ok := s.Get(key); !ok || got != o {
			t.Fatalf("Get(%s) gives %v", key, got)
		}
	}
	if n != len(m.items) {
		t.Fatalf("%d objects, want %d", n, len(m.items))
	}
	for at, keys := range want {
		seq, err := s.ByIndex(at[0], at[1])
		require.NoError(t, err)
		var got []string
		for key := range seq {
			got = append(got, key)
		}
		slices.Sort(got)
		slices.Sort(keys)
		if !slices.Equal(got, keys) {
			t.Fatalf("%v gives %v, want %v", at, got, keys)
		}
	}
}

// TestDelete_GivesTheMemoryBack deletes 99 % of a store, in random order, and counts what is left of its structures.
func TestDelete_GivesTheMemoryBack(t *testing.T) {
	const n = 20_000
	s := New(Options[string, *item]{KeyFunc: itemKey, Indexers: Indexers[*item]{"group": byGroup, "tags": byTags}})
	objs := make([]*item, n)
	for i := range objs {
		objs[i] = &item{key: fmt.Sprint(i), group: fmt.Sprint(i % 1000), tags: []string{fmt.Sprint(i), strings.Repeat("x", i%3)}}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { objs[i], objs[j] = objs[j], objs[i] })
	for _, o := range objs[:n/2] {
		require.NoError(t, s.Add(o))
	}
	require.NoError(t, s.Replace(objs, ""))
	full, slots := room(s), s.content.slots.entries
	for _, o := range objs[n/100:] {
		require.NoError(t, s.Delete(o))
	}
	left := room(s)
	t.Logf("room for %d entries when full, for %d with a hundredth left", full, left)
	require.Less(t, left, full/25)
	require.False(t, sameMap(slots, s.content.slots.entries), "a map keeps the memory of its largest size")
	checkInvariants(t, s)
}

func TestDelete_LetsGoOfTheObject(t *testing.T) {
	s := filled(t, 10)
	gone := func() weak.Pointer[item] {
		o := &item{key: "x", group: "g"}
		require.NoError(t, s.Add(o))
		s.List()
		s.DeleteKey("x")
		return weak.Make(o)
	}()
	runtime.GC()
	require.Nil(t, gone.Value(), "something still holds the object")
	runtime.KeepAlive(s)
}
