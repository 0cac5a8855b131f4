package shard

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
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

// nothing is the String of a selector without ranges. The syntax has no other.
const nothing = "false"

// String returns s as a ListOptions has it.
func (s Selector) String() string {
	switch {
	case s.Everything():
		return ""
	case len(s.Ranges) == 0:
		return nothing
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
	quoted = `\s*(?:'(\w*)'|"(\w*)")\s*`
	call   = regexp.MustCompile(`^\s*shardRange\s*\(\s*([\w.]+)\s*,` + quoted + `,` + quoted + `\)\s*$`)
	bound  = regexp.MustCompile(`^0x([0-9a-f]{16}|10000000000000000)$`)
)

// Parse reads a selector as [Selector.String] writes it. Ranges may be in any order and touch. The empty string selects
// everything. An error says what is wrong and how to write it.
func Parse(text string) (Selector, error) {
	var s Selector
	switch strings.TrimSpace(text) {
	case nothing:
		return s, errors.New("the shard selector has no range and selects nothing: ask for nothing instead")
	case "":
		if text != "" {
			return s, errors.New("the shard selector is only space: leave it empty to select everything")
		}
		return s, nil
	}
	for part := range strings.SplitSeq(text, "||") {
		field, r, err := parseCall(part)
		if err != nil {
			return Selector{}, fmt.Errorf("shard selector: %q: %w", strings.TrimSpace(part), err)
		}
		if s.Field != "" && s.Field != field {
			const both = "shard selector: fields %s and %s: use one field in all ranges"
			return Selector{}, fmt.Errorf(both, s.Field, field)
		}
		s.Field = field
		s.Ranges = append(s.Ranges, r)
	}
	slices.SortFunc(s.Ranges, byFirst)
	for i, r := range s.Ranges[1:] {
		if before := s.Ranges[i]; r.First <= before.Last {
			const overlap = "shard selector: the range from 0x%016x overlaps the one from 0x%016x: end it there"
			return Selector{}, fmt.Errorf(overlap, before.First, r.First)
		}
	}
	s.Ranges = Merge(s.Ranges...)
	return s, nil
}

// parseCall reads one range.
func parseCall(text string) (field Field, r Range, err error) {
	parts := call.FindStringSubmatch(text)
	if parts == nil {
		const syntax = "write shardRange(%s, '0x0000000000000000', '0x8000000000000000'), and || between two"
		return "", r, fmt.Errorf(syntax, UID)
	}
	if field = Field(parts[1]); field != UID && field != Namespace {
		return "", r, fmt.Errorf("the field must be %s or %s", UID, Namespace)
	}
	first, end := parts[2]+parts[3], parts[4]+parts[5]
	for _, hex := range []string{first, end} {
		if !bound.MatchString(hex) {
			return "", r, fmt.Errorf("%q must be 0x and 16 digits 0-9 and a-f, or as an end 0x10000000000000000", hex)
		}
	}
	// Of two bounds the longer is the greater, and only that of 17 digits does not fit into 64 bits.
	if len(first) > len(end) || len(first) == len(end) && first >= end {
		return "", r, errors.New("the range is empty: its start must be below its end")
	}
	r.Last = math.MaxUint64
	if r.First, err = strconv.ParseUint(first, 0, 64); err == nil && len(first) == len(end) {
		r.Last, err = strconv.ParseUint(end, 0, 64)
		r.Last--
	}
	return field, r, err
}
