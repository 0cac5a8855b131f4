package workqueue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/compat/internal/swap"
)

func TestSwap_ClientGosUserPassesWithTheImportChanged(t *testing.T) {
	out := swap.Run(t, "k8s.io/client-go/util/workqueue", "glasswatch/compat/workqueue")
	require.Contains(t, out, "the queue is a *workqueue.RateLimitingQueue[string]", "these were not our queues")
}
