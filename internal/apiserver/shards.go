package apiserver

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

var (
	shardCall  = regexp.MustCompile(`^\s*(\w+)\s*\(\s*([^(),]*?)\s*,\s*(?:'([^']*)'|"([^"]*)")\s*,\s*(?:'([^']*)'|"([^"]*)")\s*\)\s*$`)
	shardBound = regexp.MustCompile(`^0x([0-9a-f]{16}|10{16})$`)
)

// parseShards reads a shardSelector. It is nil if there is none, or if the feature is off: a real server ignores it then. Its errors
// have no code of their own, so that they are 500s. Ranges may overlap. A real server's parser, which is one of CEL, also takes
// parentheses and comments.
func (s *Server) parseShards(text string) (sharding.Selector, error) {
	if text == "" || s.options.DisableShards {
		return nil, nil
	}
	var ranges []sharding.ShardRangeRequirement
	for part := range strings.SplitSeq(text, "||") {
		r, err := parseShard(part)
		if err == nil && len(ranges) > 0 && r.Key != ranges[0].Key {
			err = fmt.Errorf("all shard ranges must use the same field, got %q and %q", ranges[0].Key, r.Key)
		}
		if err != nil {
			return nil, fmt.Errorf("invalid shard selector: %w", err)
		}
		ranges = append(ranges, r)
	}
	return sharding.NewSelector(ranges...), nil
}

func parseShard(text string) (r sharding.ShardRangeRequirement, err error) {
	if strings.TrimSpace(text) == "" {
		return r, errors.New("empty shard selector is not allowed; omit the parameter for unfiltered lists")
	}
	parts := shardCall.FindStringSubmatch(text)
	if parts == nil {
		return r, fmt.Errorf("expected a shardRange() call, got %q", text)
	}
	if parts[1] != "shardRange" {
		return r, fmt.Errorf("unsupported function %q; only shardRange() and || are allowed", parts[1])
	}
	r = sharding.ShardRangeRequirement{Key: parts[2], Start: parts[3] + parts[4], End: parts[5] + parts[6]}
	if r.Key != "object.metadata.uid" && r.Key != "object.metadata.namespace" {
		return r, fmt.Errorf("unsupported field path %q; supported: object.metadata.uid, object.metadata.namespace", r.Key)
	}
	for _, bound := range []string{r.Start, r.End} {
		if !shardBound.MatchString(bound) {
			return r, fmt.Errorf("a bound must be a 0x-prefixed 16-digit hex value, got %q", bound)
		}
	}
	if !sharding.HexLess(r.Start, r.End) {
		return r, fmt.Errorf("shard range start %s must be less than end %s", r.Start, r.End)
	}
	return r, nil
}
