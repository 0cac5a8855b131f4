// Package tombstonesonreplace is exercise 02. Its README says what to do.
package tombstonesonreplace

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"glasswatch/deltafifo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type thing struct{ name, version string }

// store is what the consumer has. An empty version: the store has the key, but no object when asked for it.
type store map[string]string

func (s store) ListKeys() []string { return slices.Sorted(maps.Keys(s)) }

func (s store) GetByKey(key string) (thing, bool) {
	version := s[key]
	if version == "" {
		return thing{}, false
	}
	return thing{key, version}, true
}

// relist has a queue over a store take some updates and then a list, and returns what is queued, by key.
func relist(t *testing.T, known store, updates, list []thing, keep ...string) map[string][]string {
	t.Helper()
	options := deltafifo.Options[string, thing]{KeyFunc: func(o thing) (string, error) { return o.name, nil }}
	if known != nil {
		options.Known = known
	}
	q := deltafifo.NewDeltaFIFO(options)
	for _, u := range updates {
		require.NoError(t, q.Update(u))
	}
	require.NoError(t, q.Replace(list, keep, "100"))
	stories := map[string][]string{}
	for q.Len() > 0 {
		require.NoError(t, q.Pop(func(key string, ds []deltafifo.Delta[string, thing], _ bool) error {
			for _, d := range ds {
				text := fmt.Sprintf("%s %s", d.Type, d.Obj.version)
				if d.Type == deltafifo.Deleted {
					text += fmt.Sprintf(", unknown end: %v, missing: %v", d.FinalStateUnknown, d.Missing)
				}
				stories[key] = append(stories[key], text)
			}
			return nil
		}))
	}
	return stories
}

func TestTombstonesOnReplace(t *testing.T) {
	t.Run("1 what the store has and the list has not gets a tombstone, as the store knows it", func(t *testing.T) {
		got := relist(t, store{"a": "1", "b": "1"}, nil, []thing{{"a", "2"}})
		require.Equal(t, []string{"Deleted 1, unknown end: true, missing: false"}, got["b"])
	})
	t.Run("2 what the list has is not", func(t *testing.T) {
		got := relist(t, store{"a": "1", "b": "1"}, nil, []thing{{"a", "2"}})
		require.Equal(t, []string{"Replaced 2"}, got["a"])
	})
	t.Run("3 nor what the server has and nobody could read", func(t *testing.T) {
		require.Empty(t, relist(t, store{"a": "1"}, nil, nil, "a"))
	})
	t.Run("4 what is queued has its tombstone already, with the newest version", func(t *testing.T) {
		got := relist(t, store{"a": "1"}, []thing{{"a", "2"}}, nil)
		require.Equal(t, []string{"Updated 2", "Deleted 2, unknown end: true, missing: false"}, got["a"])
	})
	t.Run("5 the tombstone of an object that the store cannot show has none", func(t *testing.T) {
		got := relist(t, store{"a": ""}, nil, nil)
		require.Equal(t, []string{"Deleted , unknown end: true, missing: true"}, got["a"])
	})
	t.Run("6 without a store, only what is queued can be missing", func(t *testing.T) {
		require.Empty(t, relist(t, nil, nil, nil))
		got := relist(t, nil, []thing{{"a", "2"}}, nil)
		require.Equal(t, []string{"Updated 2", "Deleted 2, unknown end: true, missing: false"}, got["a"])
	})
}
