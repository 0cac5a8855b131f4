package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun_OutsideAPodSaysSo(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	var out bytes.Buffer
	err := run(t.Context(), &out)
	require.ErrorIs(t, err, rest.ErrNotInCluster)
	require.ErrorContains(t, err, "kubectl apply -k deploy/version")
	require.Empty(t, out.String())
}
