package controllertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRestarts_BackOffAsAKubeletDoes(t *testing.T) {
	var r restarts
	for _, want := range []time.Duration{time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second,
		160 * time.Second, 5 * time.Minute, 5 * time.Minute} {
		require.Equal(t, want, r.next(9*time.Minute))
	}
	require.Equal(t, time.Second, r.next(10*time.Minute), "it has run for ten minutes")
	require.Equal(t, 10*time.Second, r.next(0))
}
