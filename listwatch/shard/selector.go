package shard

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selector is a shardSelector: the objects whose Field has a hash in Ranges. The zero Selector selects everything.
type Selector struct {
	Field  Field
	Ranges Ranges
}

// Everything reports whether s is the zero Selector.
func (s Selector) Everything() bool { return s.Field == "" }

// Matches reports whether obj is selected.
func (s Selector) Matches(obj metav1.Object) bool {
	return s.Everything() || s.Ranges.Contains(Hash(s.Field.Of(obj)))
}

// String returns s as a ListOptions has it.
func (s Selector) String() string {
	switch {
	case s.Everything():
		return ""
	case len(s.Ranges) == 0:
		return "false" // an expression that selects nothing, if the syntax had any
	}
	parts := make([]string, len(s.Ranges))
	for i, r := range s.Ranges {
		end := "0x10000000000000000"
		if r.Last < math.MaxUint64 {
			end = fmt.Sprintf("0x%016x", r.Last+1)
		}
		parts[i] = fmt.Sprintf("shardRange(%s, '0x%016x', '%s')", s.Field, r.First, end)
	}
	return strings.Join(parts, " || ")
}

var (
	call = regexp.MustCompile(
		`^\s*shardRange\s*\(\s*([\w.]+)\s*,\s*'(0x[0-9a-f]{16})'\s*,\s*'(0x(?:[0-9a-f]{16}|10{16}))'\s*\)\s*$`)
	errSyntax = fmt.Errorf("write shardRange(%s, '0x0000000000000000', '0x8000000000000000') with || between two: "+
		"all bounds have 16 digits 0-9 and a-f, but the last end may be 0x10000000000000000", UID)
)

// Parse reads a selector as [Selector.String] writes it. Ranges may be in any order and touch. The empty string selects
// everything. An error says what is wrong and what to write.
func Parse(text string) (Selector, error) {
	if text == "" {
		return Selector{}, nil
	}
	var s Selector
	for part := range strings.SplitSeq(text, "||") {
		field, r, err := parseCall(part)
		if s.Field != "" && field != s.Field {
			err = cmp.Or(err, fmt.Errorf("use one field in all ranges: the first has %s", s.Field))
		}
		for _, other := range s.Ranges {
			if r.First <= other.Last && other.First <= r.Last {
				const text = "the range overlaps the one from 0x%016x: end the first where the second starts"
				err = cmp.Or(err, fmt.Errorf(text, other.First))
			}
		}
		if err != nil {
			return Selector{}, fmt.Errorf("shard selector: %q: %w", strings.TrimSpace(part), err)
		}
		s.Field, s.Ranges = field, append(s.Ranges, r)
	}
	s.Ranges = Merge(s.Ranges...)
	return s, nil
}

// parseCall reads one range.
func parseCall(text string) (field Field, r Range, err error) {
	parts := call.FindStringSubmatch(text)
	if parts == nil {
		return "", r, errSyntax
	}
	if field = Field(parts[1]); field != UID && field != Namespace {
		return "", r, fmt.Errorf("the field must be %s or %s", UID, Namespace)
	}
	r.First, _ = strconv.ParseUint(parts[2], 0, 64) // the syntax was checked
	if r.Last, err = strconv.ParseUint(parts[3], 0, 64); err != nil {
		return field, r, nil // 2⁶⁴ is out of range, and what ParseUint then returns is the last hash
	}
	if r.First >= r.Last {
		return "", r, errors.New("the range is empty: its start must be below its end")
	}
	r.Last--
	return field, r, nil
}

// Checked returns s with its ranges in ascending order. Its error is what Parse says of the text of s.
func (s Selector) Checked() (Selector, error) { return Parse(s.String()) }
