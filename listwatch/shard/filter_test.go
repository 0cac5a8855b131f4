package shard

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// A program makes a filter for each kind, and for each change of its shards.
func TestFilter_SaysOnceAProcessThatObjectsAreDropped(t *testing.T) {
	var out bytes.Buffer
	defer klog.CaptureState().Restore()
	klog.LogToStderr(false)
	klog.SetOutput(&out)
	foreignLogged = sync.Once{}
	dropped := 0
	for range 3 {
		filter := Filter{Selector: Selector{Field: UID}, OnForeign: func() { dropped++ }}
		require.True(t, filter.Drops(&metav1.ObjectMeta{UID: "a"}))
	}
	klog.Flush()
	require.Equal(t, 1, strings.Count(out.String(), "ShardedListAndWatch"), out.String())
	require.Equal(t, 3, dropped)
}
