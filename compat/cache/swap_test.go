package cache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/compat/internal/swap"
)

func TestSwap_ClientGosUserPassesWithTheImportChanged(t *testing.T) {
	out := swap.Run(t, "k8s.io/client-go/tools/cache", "glasswatch/compat/cache")
	require.Contains(t, out, "the registration is a *cache.registration", "this was not our informer")
}
