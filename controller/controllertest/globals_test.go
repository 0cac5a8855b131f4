package controllertest

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

func TestGlobals_AreGivenBackByTheLastOne(t *testing.T) {
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for before, during := range map[int]int{100: plentyOfGarbage, 900: 900, -1: -1} {
		debug.SetGCPercent(before)
		handlers := len(utilruntime.ErrorHandlers)
		one, other := withGlobals(), withGlobals()
		one()
		require.Equal(t, during, percent())
		require.Len(t, utilruntime.ErrorHandlers, 1)
		other()
		require.Equal(t, before, percent())
		require.Len(t, utilruntime.ErrorHandlers, handlers)
	}
}
