package indexer

import "glasswatch/internal/shrink"

// answers are what the index functions say in a write. In a transaction, next gives the values of each object in each
// index, in the order in which they were added. Later transactions use their memory again.
type answers[K comparable] struct {
	strings []string   // of all values, one after the other
	values  [][]string // parts of strings
	taken   int        // the number of values that next has returned
	scratch []string   // empty: what the next index function appends to
	failed  []failure[K]
}

// failure is an index function that failed on the object under key.
type failure[K comparable] struct {
	key K
	err error
}

// keptAnswers is the greatest number of entries that answers keep memory for. An informer's full batch, 1,000 objects,
// needs less with up to three indices of one value each.
const keptAnswers = 8 * shrink.Kept

// add copies values, and makes their memory the next scratch.
func (a *answers[K]) add(values []string) {
	first := len(a.strings)
	a.strings = append(a.strings, values...)
	a.values = append(a.values, a.strings[first:])
	clear(values)
	a.scratch = values[:0]
}

func (a *answers[K]) next() []string {
	values := a.values[a.taken]
	a.taken++
	return values
}

// forget lets go of all strings and errors.
func (a *answers[K]) forget() {
	if cap(a.values)+cap(a.strings)+cap(a.scratch) > keptAnswers {
		*a = answers[K]{}
		return
	}
	clear(a.values)
	clear(a.strings)
	clear(a.scratch[:cap(a.scratch)])                                                 // a function may have appended there and returned less
	*a = answers[K]{strings: a.strings[:0], values: a.values[:0], scratch: a.scratch} // the rest is zero
}
