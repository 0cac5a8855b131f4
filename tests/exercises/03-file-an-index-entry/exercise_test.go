// Package fileanindexentry is exercise 03. Its README says what to do.
package fileanindexentry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"glasswatch/indexer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is filed by its subjects.
type book struct {
	title    string
	subjects []string
}

type shelf struct {
	*testing.T
	*indexer.Store[string, book]
}

func newShelf(t *testing.T) shelf {
	return shelf{t, indexer.New(indexer.Options[string, book]{
		KeyFunc: func(b book) (string, error) { return b.title, nil },
		Compare: strings.Compare,
		Indexers: indexer.Indexers[book]{
			"subject": func(b book, dst []string) ([]string, error) { return append(dst, b.subjects...), nil },
		},
	})}
}

func (s shelf) Put(title string, subjects ...string) {
	s.Helper()
	require.NoError(s, s.Store.Add(book{title, subjects}))
}

// Has checks which titles are filed under a subject.
func (s shelf) Has(subject string, titles ...string) {
	s.Helper()
	keys, err := s.IndexKeys("subject", subject)
	require.NoError(s, err)
	require.Equal(s, strings.Join(titles, ", "), strings.Join(keys, ", "), "filed under %q", subject)
}

func TestFileAnIndexEntry(t *testing.T) {
	t.Run("1 an object with one value is found under it", func(t *testing.T) {
		s := newShelf(t)
		s.Put("Dune", "sand")
		s.Has("sand", "Dune")
	})
	t.Run("2 an object without a value is stored, and found under none", func(t *testing.T) {
		s := newShelf(t)
		s.Put("Blank")
		require.Equal(t, 1, s.Len())
		require.Empty(t, s.ListIndexValues("subject"))
	})
	t.Run("3 an object with several values is found under each", func(t *testing.T) {
		s := newShelf(t)
		s.Put("Moby Dick", "whales", "ships", "obsession")
		for _, subject := range []string{"whales", "ships", "obsession"} {
			s.Has(subject, "Moby Dick")
		}
	})
	t.Run("4 an update takes it from where it was filed", func(t *testing.T) {
		s := newShelf(t)
		s.Put("A", "one")
		s.Put("A", "two")
		s.Has("one")
		s.Has("two", "A")
		s.Put("A", "three", "four")
		s.Has("two")
		s.Has("four", "A")
		s.Put("A")
		require.Empty(t, s.ListIndexValues("subject"), "it has no subject any more")
	})
	t.Run("5 a deletion leaves no gap among the others", func(t *testing.T) {
		s := newShelf(t)
		for i := range 10 {
			s.Put(fmt.Sprintf("book %d", i), "all", fmt.Sprintf("half %d", i%2))
		}
		for i := range 8 {
			s.DeleteKey(fmt.Sprintf("book %d", i))
		}
		s.Has("all", "book 8", "book 9")
		s.Has("half 0", "book 8")
		s.Has("half 1", "book 9")
	})
}
