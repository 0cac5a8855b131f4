package controllertest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// names are those that the server made of a generateName, and what stands for each in all plays: "web-*" for "web-x7k2p". Programs derive
// other names from them, so they are replaced inside longer texts too.
type names struct {
	stands   map[string]string
	replacer *strings.Replacer // nil if a name was learned since
}

func (n *names) learn(name, stand string) {
	if name == "" {
		return // an answer that could not be read
	}
	n.stands[name] = stand
	n.replacer = nil
}

func (n *names) replace(text string) string {
	if n.replacer == nil {
		n.replacer = replacerOf(n.stands)
	}
	return n.replacer.Replace(text)
}

// replacerOf prefers the longer of two texts, of which one may be a part of the other.
func replacerOf(stands map[string]string) *strings.Replacer {
	longestFirst := slices.SortedFunc(maps.Keys(stands), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	var pairs []string
	for _, text := range longestFirst {
		pairs = append(pairs, text, stands[text])
	}
	return strings.NewReplacer(pairs...)
}
