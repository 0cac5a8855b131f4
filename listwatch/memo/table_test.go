package memo

import (
	"fmt"
	"hash/maphash"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestTable_PartsThatComeInTurnsAreFoundToComeAgain though they have one place among those that came once.
func TestTable_PartsThatComeInTurnsAreFoundToComeAgain(t *testing.T) {
	tb := newTable(1<<20, 1)
	place := func(data []byte) uint64 { return maphash.Bytes(tb.seed, data) % uint64(len(tb.once)) }
	parts := [][]byte{[]byte("0")}
	for i := 1; len(parts) < 4; i++ {
		if data := fmt.Append(nil, i); place(data) == place(parts[0]) {
			parts = append(parts, data)
		}
	}
	again := map[string]bool{}
	for tb.objects = 1; len(again) < len(parts); tb.objects++ {
		require.Less(t, tb.objects, 10_000, "only these were found: %v", again)
		data := parts[tb.objects%len(parts)]
		if tb.cameBefore(0, data) {
			again[string(data)] = true
		}
	}
}

func TestTable_WhatOneObjectHasTwiceCameOnce(t *testing.T) {
	tb := newTable(1<<20, 1)
	tb.objects = 1
	require.False(t, tb.cameBefore(0, []byte("volume")))
	require.False(t, tb.cameBefore(0, []byte("volume")))
	tb.objects++
	require.True(t, tb.cameBefore(0, []byte("volume")))
}

// A program has dozens of informers, most of which have few objects.
func TestTable_OfFewObjectsIsSmall(t *testing.T) {
	tb := newTable(1<<20, 1)
	bytes := func() int { return len(tb.once) * int(unsafe.Sizeof(tb.once[0])) }
	for range fewObjects - 1 {
		tb.begin()
		require.LessOrEqual(t, bytes(), 8<<10)
	}
	tb.begin()
	full := bytes()
	require.GreaterOrEqual(t, full, 32<<10)
	require.False(t, tb.cameBefore(0, []byte("volume")))
	tb.begin()
	require.True(t, tb.cameBefore(0, []byte("volume")), "what is known was forgotten once only")
	require.Equal(t, full, bytes())
}
