package external

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSwap_AWriteToTheCacheReachesOtherObjectsAndTheDetectorNamesIt(t *testing.T) {
	program := filepath.Join(build(t, "factory", "./writes"), "writes")
	c := newCluster(t)
	for n := range 10 {
		created := service(fmt.Sprint("web-", n), "same")
		_, err := c.client.CoreV1().Services("default").Create(t.Context(), created, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for _, informers := range []string{"client-go", "unshared"} {
		p := start(t, c, program, "GLASSWATCH_INFORMERS="+informers)
		p.expect("labelled 1")
		_, err := p.end(syscall.SIGTERM)
		require.NoError(t, err)
	}

	p := start(t, c, program, "GLASSWATCH_INFORMERS=")
	var labelled int
	_, err := fmt.Sscanf(p.next(), "labelled %d", &labelled)
	require.NoError(t, err)
	require.Greater(t, labelled, 10/2, "most objects share their labels with the one that was written to")
	_, err = p.end(syscall.SIGTERM)
	require.NoError(t, err)

	stderr, err := start(t, c, program, "GLASSWATCH_INFORMERS=", "KUBE_CACHE_MUTATION_DETECTOR=true").wait()
	require.Error(t, err)
	// It may be another object than the one that was written to: they share the labels.
	message, _, _ := strings.Cut(stderr, "\n")
	require.Regexp(t, detected(t), message)
}
