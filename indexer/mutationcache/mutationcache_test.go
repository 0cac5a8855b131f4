package mutationcache

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"glasswatch/indexer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is what tests store.
type item struct {
	key     string
	version int
	group   string   // index "group"; "bad" fails, "panic" panics
	tags    []string // the first is the UID
}

func itemKey(o *item) (string, error) {
	if o.key == "" {
		return "", errors.New("no key")
	}
	return o.key, nil
}

func byGroup(o *item, dst []string) ([]string, error) {
	switch o.group {
	case "bad":
		return append(dst, "partial"), fmt.Errorf("bad group of %s", o.key)
	case "panic":
		panic("a group that panics")
	}
	return append(dst, o.group), nil
}

// uid is an object's first tag.
func sameUID(a, b *item) bool { return slices.Equal(a.tags, b.tags) }

func compareItems(a, b *item) (int, error) {
	if a.version < 0 || b.version < 0 {
		return 0, errors.New("not a version")
	}
	return cmp.Compare(a.version, b.version), nil
}

func newMutations(
	change func(*Options[string, *item]),
) (*Cache[string, *item], *indexer.Store[string, *item]) {
	s := indexer.New(indexer.Options[string, *item]{
		KeyFunc: itemKey, Compare: strings.Compare, Indexers: indexer.Indexers[*item]{"group": byGroup},
	})
	opts := Options[string, *item]{KeyFunc: itemKey, Compare: compareItems, Same: sameUID}
	if change != nil {
		change(&opts)
	}
	return New(s, opts), s
}

func includeAdds(o *Options[string, *item]) { o.IncludeAdds = true }

func itemAt(version int, group string) *item {
	return &item{key: "a", version: version, group: group, tags: []string{"uid"}}
}

func expectVersion(t *testing.T, c *Cache[string, *item], want int) {
	t.Helper()
	got, ok := c.GetByKey("a")
	if want == 0 {
		require.False(t, ok, "got %v", got)
		return
	}
	require.True(t, ok)
	require.Equal(t, want, got.version)
}

func byIndexVersions(t *testing.T, c *Cache[string, *item], value string) []int {
	t.Helper()
	objs, err := c.ByIndex("group", value)
	require.NoError(t, err)
	versions := []int{}
	for _, o := range objs {
		versions = append(versions, o.version)
	}
	slices.Sort(versions)
	return versions
}

func TestCache_TheNewerOfStoreAndMutationWins(t *testing.T) {
	c, s := newMutations(nil)
	require.NoError(t, s.Add(itemAt(3, "")))
	expectVersion(t, c, 3)
	require.NoError(t, c.Mutation(itemAt(5, "")))
	expectVersion(t, c, 5)
	require.NoError(t, c.Mutation(itemAt(4, "")), "comes late")
	expectVersion(t, c, 5)
	require.NoError(t, s.Add(itemAt(6, "")))
	expectVersion(t, c, 6)
	require.Zero(t, len(c.mutations.byKey), "the store has caught up")
}

func TestCache_AMutationLastsForItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newMutations(func(o *Options[string, *item]) { o.TTL = time.Minute })
		require.NoError(t, s.Add(itemAt(3, "")))
		require.NoError(t, c.Mutation(itemAt(5, "")))
		<-time.After(time.Minute)
		expectVersion(t, c, 5)
		<-time.After(1)
		expectVersion(t, c, 3)
	})
}

func TestCache_ForgetsTheOldestBeyondItsSize(t *testing.T) {
	c, _ := newMutations(func(o *Options[string, *item]) { o.IncludeAdds, o.MaxSize = true, 3 })
	for i := range 10 {
		require.NoError(t, c.Mutation(&item{key: fmt.Sprint(i), version: i + 1, group: "g"}))
	}
	require.Equal(t, []int{8, 9, 10}, byIndexVersions(t, c, "g"))
	require.Equal(t, 3, len(c.mutations.byKey))
}

func TestCache_WhatTheStoreLacksIsMissingUnlessAddsAreIncluded(t *testing.T) {
	c, _ := newMutations(nil)
	require.NoError(t, c.Mutation(itemAt(5, "g")))
	expectVersion(t, c, 0)
	require.Empty(t, byIndexVersions(t, c, "g"))

	c, _ = newMutations(includeAdds)
	require.NoError(t, c.Mutation(itemAt(5, "g")))
	expectVersion(t, c, 5)
	require.Equal(t, []int{5}, byIndexVersions(t, c, "g"))
}

func TestCache_ByIndexFindsAMutationWhereItIsFiled(t *testing.T) {
	c, s := newMutations(nil)
	require.NoError(t, s.Add(itemAt(3, "before")))
	require.NoError(t, s.Add(&item{key: "b", version: 4, group: "before"}))
	require.NoError(t, c.Mutation(itemAt(5, "after")))
	require.Equal(t, []int{4}, byIndexVersions(t, c, "before"))
	require.Equal(t, []int{5}, byIndexVersions(t, c, "after"))
	_, err := c.ByIndex("unknown", "x")
	require.Error(t, err)
}

func TestCache_ADeletionEndsMutationsOfThatObjectAlsoLateOnes(t *testing.T) {
	c, _ := newMutations(includeAdds)
	require.NoError(t, c.Mutation(itemAt(5, "g")))
	require.NoError(t, c.OnDelete(itemAt(4, "g")), "an inferred deletion shows an old version")
	expectVersion(t, c, 0)
	require.NoError(t, c.Mutation(itemAt(6, "g")))
	expectVersion(t, c, 0)
	require.Empty(t, byIndexVersions(t, c, "g"))

	again := itemAt(9, "g")
	again.tags = []string{"another uid"}
	require.NoError(t, c.Mutation(again))
	expectVersion(t, c, 9)
	require.NoError(t, c.OnDelete(itemAt(8, "g")), "of the one before")
	expectVersion(t, c, 9)
}

func TestCache_ADeletionIsRememberedWhenAnotherObjectHasTheKey(t *testing.T) {
	c, s := newMutations(includeAdds)
	require.NoError(t, c.OnDelete(itemAt(7, "g")))
	again := itemAt(8, "g")
	again.tags = []string{"another uid"}
	require.NoError(t, s.Add(again))
	require.NoError(t, c.OnAddOrUpdate(again))
	expectVersion(t, c, 8)
	require.NoError(t, c.Mutation(itemAt(6, "g")), "of the first one, late")
	require.NoError(t, s.Delete(again))
	expectVersion(t, c, 0)
}

func TestCache_VersionsThatCannotBeComparedLeaveTheStoresObject(t *testing.T) {
	var failed []string
	c, s := newMutations(func(o *Options[string, *item]) {
		o.OnError = func(key string, err error) { failed = append(failed, fmt.Sprint(key, ": ", err)) }
	})
	require.NoError(t, s.Add(itemAt(3, "")))
	require.NoError(t, c.Mutation(itemAt(-1, "")))
	expectVersion(t, c, 3)
	require.Equal(t, []string{"a: comparing versions: not a version"}, failed)
	require.Error(t, c.Mutation(itemAt(5, "")))
	require.Error(t, c.Mutation(&item{}), "no key")
}

func TestCache_AnIndexFunctionThatFailsCostsThatMutation(t *testing.T) {
	for _, group := range []string{"bad", "panic"} {
		var failed []string
		c, s := newMutations(func(o *Options[string, *item]) {
			o.OnError = func(key string, err error) { failed = append(failed, fmt.Sprint(key, " ", err)) }
		})
		require.NoError(t, s.Add(itemAt(3, "g")))
		require.NoError(t, c.Mutation(itemAt(5, group)))
		require.Empty(t, byIndexVersions(t, c, "partial"))
		require.Empty(t, byIndexVersions(t, c, "g"))
		require.Len(t, failed, 2)
		require.Contains(t, failed[0], "a index function: ")
	}
}

func TestCache_MayBeUsedByItsOwnFunctions(t *testing.T) {
	var c *Cache[string, *item]
	c, s := newMutations(func(o *Options[string, *item]) {
		o.Compare = func(a, b *item) (int, error) {
			c.lookup("a")
			return compareItems(a, b)
		}
	})
	require.NoError(t, s.Add(itemAt(3, "g")))
	require.NoError(t, c.Mutation(itemAt(5, "g")))
	require.NoError(t, c.OnAddOrUpdate(itemAt(4, "g")))
	require.NoError(t, c.OnDelete(&item{key: "a", version: 1}))
	require.Equal(t, []int{5}, byIndexVersions(t, c, "g"))
}

// world is a server, its log, and a store that follows the log with a delay.
type world struct {
	server  map[string]*item
	log     []event
	late    []*item // answers that the program has not passed on yet
	store   *indexer.Store[string, *item]
	cache   *Cache[string, *item]
	version int
	mine    map[string]*item // the newest version passed to Mutation
}

type event struct {
	obj     *item
	deleted bool
}

// check: a read is never older than the store nor than the program's own write, and ByIndex agrees with GetByKey.
func (w *world) check(t *rapid.T) {
	want := map[string][]int{}
	for _, key := range []string{"a", "b", "c"} {
		stored, inStore := w.store.GetByKey(key)
		got, ok := w.cache.GetByKey(key)
		if inStore {
			require.True(t, ok)
			require.GreaterOrEqual(t, got.version, stored.version)
		}
		if mine := w.mine[key]; mine != nil && inStore {
			require.GreaterOrEqual(t, got.version, mine.version, "the program's own write")
		}
		if ok {
			want[got.group] = append(want[got.group], got.version)
		}
	}
	for _, group := range []string{"x", "y"} {
		objs, err := w.cache.ByIndex("group", group)
		require.NoError(t, err)
		var versions []int
		for _, o := range objs {
			versions = append(versions, o.version)
		}
		require.ElementsMatch(t, want[group], versions)
	}
}

func (w *world) write(t *rapid.T) {
	key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
	w.version++
	was := w.server[key]
	if was != nil && rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
		gone := *was
		gone.version = w.version
		delete(w.server, key)
		delete(w.mine, key)
		w.log = append(w.log, event{&gone, true})
		return
	}
	o := &item{key: key, version: w.version, group: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "group")}
	if o.tags = []string{fmt.Sprint(w.version)}; was != nil {
		o.tags = was.tags
	}
	w.server[key] = o
	w.log = append(w.log, event{o, false})
	switch rapid.IntRange(0, 2).Draw(t, "whose") {
	case 0:
		w.pass(t, o)
	case 1:
		w.late = append(w.late, o)
	}
}

func (w *world) pass(t *rapid.T, o *item) {
	require.NoError(t, w.cache.Mutation(o))
	if now := w.server[o.key]; now != nil && sameUID(now, o) && (w.mine[o.key] == nil || w.mine[o.key].version < o.version) {
		w.mine[o.key] = o
	}
}

func (w *world) passLate(t *rapid.T) {
	if len(w.late) > 0 {
		i := rapid.IntRange(0, len(w.late)-1).Draw(t, "which")
		w.pass(t, w.late[i])
		w.late = slices.Delete(w.late, i, i+1)
	}
}

func (w *world) follow(t *rapid.T) {
	if len(w.log) == 0 {
		return
	}
	e := w.log[0]
	w.log = w.log[1:]
	if e.deleted {
		require.NoError(t, w.store.Delete(e.obj))
		require.NoError(t, w.cache.OnDelete(e.obj))
		return
	}
	require.NoError(t, w.store.Add(e.obj))
	require.NoError(t, w.cache.OnAddOrUpdate(e.obj))
}

func TestCache_ReadsOwnWritesAndEndsEqualToTheServer(t *testing.T) {
	for _, adds := range []bool{false, true} {
		t.Run(fmt.Sprint("adds included: ", adds), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := &world{server: map[string]*item{}, mine: map[string]*item{}}
				w.cache, w.store = newMutations(func(o *Options[string, *item]) { o.IncludeAdds = adds })
				t.Repeat(map[string]func(*rapid.T){"": w.check, "write": w.write, "late": w.passLate, "follow": w.follow})
				for len(w.late) > 0 {
					w.passLate(t)
				}
				for len(w.log) > 0 {
					w.follow(t)
				}
				for _, key := range []string{"a", "b", "c"} {
					got, _ := w.cache.GetByKey(key)
					require.Equal(t, w.server[key], got)
				}
				w.check(t)
			})
		})
	}
}

// busyStore catches up right after it has answered.
type busyStore struct {
	*indexer.Store[string, *item]
	after func()
}

func (s *busyStore) GetByKey(key string) (*item, bool) {
	defer s.after()
	return s.Store.GetByKey(key)
}

func (s *busyStore) ByIndex(name, value string) ([]*item, error) {
	defer s.after()
	return s.Store.ByIndex(name, value)
}

func TestCache_AReadDuringWhichTheStoreCatchesUpIsNotTheOldVersion(t *testing.T) {
	for _, read := range []func(c *Cache[string, *item]) int{
		func(c *Cache[string, *item]) int { o, _ := c.GetByKey("a"); return o.version },
		func(c *Cache[string, *item]) int { return byIndexVersions(t, c, "g")[0] },
	} {
		c, s := newMutations(nil)
		c.backing = &busyStore{s, func() {
			_ = s.Add(itemAt(5, "g"))
			_ = c.OnAddOrUpdate(itemAt(5, "g"))
		}}
		require.NoError(t, s.Add(itemAt(3, "g")))
		require.NoError(t, c.Mutation(itemAt(5, "g")))
		require.Equal(t, 5, read(c))
	}
}
