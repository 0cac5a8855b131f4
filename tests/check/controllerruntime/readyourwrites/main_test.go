package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	goleak.VerifyTestMain(m)
}

const found, absent = "get: <nil>", `get: Service "gone" not found`
const waits = "get: failed to wait for cache to catch up: failed waiting to observe resource version N: context deadline exceeded"

var version = regexp.MustCompile(`version \d+`)

func play(t *testing.T, cfg *rest.Config, readYourWrites bool, loseHistory func() error) []string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, show(t.Context(), cfg, readYourWrites, &network{loseHistory: loseHistory}, &out))
	return strings.Split(strings.TrimSpace(version.ReplaceAllString(out.String(), "version N")), "\n")
}

// story is what the program prints when the three reads after the deletion print this.
func story(read string) []string {
	const deleted, listed = "deleted, while the watch was broken", "the cache has listed, and knows"
	return []string{found, deleted, listed, read, read, read, "another Service is written", absent}
}

func TestShow_OnTheServerInMemory(t *testing.T) {
	for _, test := range []struct {
		name           string
		readYourWrites bool
		story          []string
	}{{"on", true, story(waits)}, {"off", false, story(absent)}} {
		t.Run(test.name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
				compact := func() error { s.Faults().Compact(); return nil }
				require.Equal(t, test.story, play(t, s.Config, test.readYourWrites, compact))
			})
		})
	}
}

// After a restart the API server's own cache begins with the present: a watch from before gets 410 Expired.
func TestShow_OnARealServer(t *testing.T) {
	plane := controlplane.StartSplit(t)
	restart := func() error { plane.KillAPIServer(); return plane.StartAPIServer() }
	cfg := plane.Config(controlplane.Admin)
	t.Run("that restarts", func(t *testing.T) { require.Equal(t, story(waits), play(t, cfg, true, restart)) })
	t.Run("that restarts, with read-your-writes off", func(t *testing.T) { require.Equal(t, story(absent), play(t, cfg, false, restart)) })
	t.Run("as main plays it", func(t *testing.T) { require.Equal(t, story(waits), play(t, cfg, true, nil)) })
}

func TestPage_QuotesTheStory(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/results/read-your-writes.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "\t"+strings.Join(story(waits), "\n\t")+"\n")
}
