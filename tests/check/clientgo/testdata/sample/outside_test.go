package sample_test

import (
	"testing"

	"glasswatch/tests/check/clientgo/testdata/sample"
)

func TestOutside(t *testing.T) { helper(t, sample.New(1)) }

func helper(t *testing.T, b *sample.Box) {
	t.Helper()
	if b.Content() != 1 {
		t.Fatal(b.Content())
	}
}
