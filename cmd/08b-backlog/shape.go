package main

import (
	"fmt"
	"slices"
	"strings"
)

// shape holds the curves against what the step says of them. No two runs draw the same, so no golden file does.
func shape(name, ready, delayed string) error {
	falls := func(curve string) bool { // it begins with most, ends lower and never rises
		bars := []rune(curve)
		first, last := bars[0], bars[len(bars)-1]
		slices.Reverse(bars)
		return first > '▄' && last < first && slices.IsSorted(bars)
	}
	flat := func(curve string) bool { return strings.Trim(curve, "▁") == "" }
	good := falls(ready) && flat(delayed)
	if !strings.HasPrefix(name, "plain") {
		good = falls(delayed) && !flat(ready) && []rune(ready)[0] < '▅'
	}
	if !good {
		return fmt.Errorf("%s: these are not its curves: ready %s, delayed %s", name, ready, delayed)
	}
	return nil
}
