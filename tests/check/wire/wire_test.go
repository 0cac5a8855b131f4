package wire

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"glasswatch/internal/apiserver"
	"glasswatch/tests/check/controlplane"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // our client says that a server does not know shards
	goleak.VerifyTestMain(main{m})
}

type main struct{ *testing.M }

// Run lets many checks run at once, even on few processors, for most of them wait most of the time.
func (m main) Run() int {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == flag.Lookup("test.parallel").DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(32))
	}
	return m.M.Run()
}

// check is a claim about the protocol.
type check struct {
	group, name string
	run         func(t T, s *server)
}

// group gives checks their group.
func group(name string, checks []check) []check {
	for i := range checks {
		checks[i].group = name
	}
	return checks
}

func TestWire(t *testing.T) {
	t.Run("inprocess", func(t *testing.T) { runAll(t, inProcess(t, apiserver.Options{}), table()) })
	t.Run("upstream", func(t *testing.T) { runAll(t, upstream(t, ""), table()) })
}

// The feature gate is on by default in one server, and off in the other.
func TestWire_ShardsWithTheOtherSettingOfTheGate(t *testing.T) {
	t.Run("inprocess", func(t *testing.T) { runAll(t, inProcess(t, apiserver.Options{DisableShards: true}), shards) })
	t.Run("upstream", func(t *testing.T) {
		x := upstream(t, shardGate)
		runAll(t, x, append(shards, shardMetrics...))
	})
}

// runAll returns when every check has. A real server looks through every resource to empty a namespace, and again if one
// came or went meanwhile. So namespaces are deleted when no check defines resources any more.
func runAll(t *testing.T, x *target, checks []check) {
	var together, later []check
	for _, c := range checks {
		if c.group == "namespaces" {
			later = append(later, c)
		} else {
			together = append(together, c)
		}
	}
	t.Run("together", func(t *testing.T) { runTogether(t, x, together) })
	t.Run("later", func(t *testing.T) { runTogether(t, x, later) })
}

func runTogether(t *testing.T, x *target, checks []check) {
	for _, c := range checks {
		t.Run(c.group+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, x.serve(t))
		})
	}
}

func TestWire_HasAtLeast120ChecksWithNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range table() {
		require.NotEmpty(t, c.group)
		require.False(t, seen[c.group+c.name], "two checks claim: %s", c.name)
		seen[c.group+c.name] = true
	}
	require.GreaterOrEqual(t, len(seen), 120)
	t.Logf("%d checks", len(seen))
}

// inProcess serves internal/apiserver until the test ends.
func inProcess(t T, opts apiserver.Options) *target {
	server, listener := apiserver.New(opts), apiserver.NewPipeListener()
	server.Faults().Compact()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	x := newTarget(t, apiserver.RESTConfigFor(listener))
	x.shards = !opts.DisableShards
	return x
}

// upstream runs a real control plane until the test ends, or skips the test.
func upstream(t *testing.T, gates string) *target {
	plane := controlplane.StartGated(t, gates)
	compactEtcd(t, plane)
	x := newTarget(t, plane.Config(controlplane.Admin))
	x.shards = gates == shardGate
	return x
}

// compactEtcd makes etcd drop its history before now, by the gateway on its client port.
func compactEtcd(t T, plane *controlplane.Plane) {
	ask := func(path, body string, into any) {
		resp, err := http.Post(plane.EtcdURL()+"/v3/"+path, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, json.NewDecoder(resp.Body).Decode(into))
	}
	var status struct{ Header struct{ Revision string } }
	ask("maintenance/status", "{}", &status)
	ask("kv/compaction", `{"revision":`+status.Header.Revision+`}`, &struct{}{})
	http.DefaultClient.CloseIdleConnections()
}
