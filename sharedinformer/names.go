package sharedinformer

import (
	"strconv"
	"strings"
)

// nameSet makes names unique by a number. The zero value is empty.
type nameSet struct {
	used map[string]bool
	// free is, for a name, the lowest number that may be free, so that many of one name are not all looked at for each.
	// Invariant: no lower number is free; there is an entry only if the bare name, which is number 1, is used.
	free map[string]int
}

func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return name + "#" + strconv.Itoa(n)
}

// take returns name, or the first of name#2, name#3, … that is not used.
func (s *nameSet) take(name string) string {
	if s.used == nil {
		s.used, s.free = map[string]bool{}, map[string]int{}
	}
	n := max(s.free[name], 1)
	for s.used[numbered(name, n)] {
		n++
	}
	unique := numbered(name, n)
	s.used[unique] = true
	s.free[name] = n + 1
	return unique
}

// give makes a name that was taken free again.
func (s *nameSet) give(unique string) {
	delete(s.used, unique)
	delete(s.free, unique)
	at := strings.LastIndexByte(unique, '#')
	if at < 0 {
		return
	}
	// Whoever took it, it is a number of the name before it.
	name := unique[:at]
	if n, err := strconv.Atoi(unique[at+1:]); err == nil && s.free[name] > n {
		s.free[name] = n
	}
}
