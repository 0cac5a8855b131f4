package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"glasswatch/cmd/internal/demo"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
)

func TestMain(m *testing.M) {
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

func TestDemo_EveryRuleHoldsAndEveryStepShowsItsWayThroughTheLayers(t *testing.T) {
	var out bytes.Buffer
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, run(t.Context(), []string{"--demo", "--verbose", "--log-format=json", "--log-file=" + log, "-v=6"}, &out), "%s", &out)
	requireJSONLinesOfClientGo(t, log)
	require.Contains(t, out.String(), "All 17 steps held")
	require.NotContains(t, out.String(), "\x1b[", "colours are for terminals")
	steps := strings.Split(out.String(), "\n\n")
	for _, step := range steps[1 : len(steps)-1] {
		for _, at := range crossed {
			require.Contains(t, step, at.Layer(), "%s", step)
		}
	}
}

func requireJSONLinesOfClientGo(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		require.True(t, json.Valid([]byte(line)), "%s", line)
	}
	require.Contains(t, string(text), `"caller":"transport/round_trippers.go`)
}

func TestDemo_TellsThePathInFullOnceAndThenWhatTheControllerDid(t *testing.T) {
	path := []look.Event{{At: look.Decoded, Kind: "Service", Action: "ADDED"}, {At: look.Decided, Action: "created the Ingress"}}
	told := func(verbose bool) string {
		var out bytes.Buffer
		tell := teller{Printer: demo.NewPrinter(&out), verbose: verbose}
		for n := range 2 {
			tell.step(n+1, "It holds", []*act{{did: "something", path: path}}, 0, nil)
		}
		return out.String()
	}
	require.Equal(t, 1, strings.Count(told(false), "listwatch"))
	require.Contains(t, told(false), "something → created the Ingress\n")
	require.Equal(t, 2, strings.Count(told(true), "listwatch"))
}

func TestDemo_ARuleThatDoesNotHoldFailsIt(t *testing.T) {
	var out bytes.Buffer
	tell := teller{Printer: demo.NewPrinter(&out)}
	tell.step(1, "It holds", []*act{{did: "something"}}, 0, errors.New("but it does not"))
	require.Contains(t, out.String(), "DID NOT HOLD: but it does not")
}

func TestFollow_PicksOneReportALayerForTheFirstChange(t *testing.T) {
	r := newRecorder()
	web := keyOf("default", "web")
	say := func(at look.Boundary, kind, version string, key listwatch.Key) {
		r.record(look.Event{At: at, Kind: kind, Action: "Add", RV: version, Key: look.NameOf(key)})
	}
	say(look.Decided, "", "", web) // of an earlier change
	mark := r.mark()
	say(look.Decided, "", "", web)
	say(look.Decoded, "Ingress", "5", web)
	say(look.Decoded, "Service", "6", web)
	say(look.Decoded, "Service", "7", web)
	say(look.Handed, "Service", "6", keyOf("default", "other"))
	for _, at := range []look.Boundary{look.Handed, look.Stored, look.Popped} {
		say(at, "Service", "6", web)
	}
	say(look.Queued, "", "", web)
	say(look.Called, "Service", "6", web)
	say(look.Decided, "", "9", web)
	story, err := r.crossing(t.Context(), mark, "Service", web)
	require.NoError(t, err)
	require.Len(t, story, len(crossed))
	for i, e := range story {
		require.Equal(t, crossed[i], e.At)
		require.Contains(t, []string{"", "6", "9"}, e.RV)
	}
}

func TestFlags_NameWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"--workers=0":                                  "--workers: want at least 1, got 0",
		"--resync=-1s":                                 "--resync: want 0 or more",
		"--host=10.0.0.1":                              "--host: want a host name",
		"--ingress-class=A":                            "--ingress-class: want",
		"--annotation-prefix=a/b":                      "--annotation-prefix: want",
		"--namespace=../x":                             "--namespace: want a namespace's name",
		"--demo --resync=1s":                           "--resync: the demo has no use for it",
		"--log-format=xml":                             "--log-format: want text or json",
		"extra":                                        `want flags only, got "extra"`,
		"--verbose":                                    "--verbose: want it with --demo",
		"--demo --embedded":                            "want one of the two",
		"--demo --kubeconfig=x":                        "--kubeconfig: an in-process API server needs none",
		"--embedded --context=x":                       "--context: an in-process API server needs none",
		"--no-such-flag":                               "unknown flag",
		"--demo --insecure-skip-tls-verify":            "an in-process API server needs none",
		"--demo --leader-elect":                        "--leader-elect: an in-process API server needs none",
		"--embedded --leader-elect":                    "--leader-elect: an in-process API server needs none",
		"--embedded --leader-elect-name=a":             "--leader-elect-name: has no use without --leader-elect",
		"--shards=-1":                                  "--shards: want 1 to 16384, got -1",
		"--shards=0":                                   "--shards: want 1 to 16384, got 0; without the flag",
		"--shards=8 --leader-elect":                    "--shards and --leader-elect: want one of the two",
		"--shards=8 --shard-by=name":                   `--shard-by: want namespace, uid or label, got "name"`,
		"--shards=8 --shard-identity=A_b":              "--shard-identity: want a DNS subdomain",
		"--shard-by=uid":                               "--shard-by and --shard-identity: have no use without",
		"--demo --shards=8":                            "--shards: an in-process API server needs none",
		"--shards=8 --lens-addr=127.0.0.1:1":           "--lens-addr: the lens does not know",
		"--leader-elect-retry-period=1s":               "--leader-elect-retry-period: has no use without --leader-elect",
		"--leader-elect --leader-elect-namespace=../x": "--leader-elect-namespace: want a namespace's name",
		"--leader-elect --leader-elect-name=A":         "--leader-elect-name: want a lease's name",
		"--leader-elect --leader-elect-lease-duration=1500ms": "--leader-elect-lease-duration: want whole seconds",
		"--leader-elect --leader-elect-lease-duration=10s":    "--leader-elect-renew-deadline: want less than the lease duration, 10s, got 10s",
		"--leader-elect --leader-elect-renew-deadline=13s":    "--leader-elect-renew-deadline: want less than the lease duration less the retry period, 13s, got 13s",
		"--leader-elect --leader-elect-retry-period=9s":       "--leader-elect-retry-period: want more than 0 and less than the renew deadline, 10s, over 1.2, got 9s",
		"--leader-elect --leader-elect-retry-period=2562047h": "--leader-elect-retry-period: want more than 0 and less",
		"--metrics-addr=8080":                                 "--metrics-addr: want host:port or nothing",
		"--health-addr=[::1":                                  "--health-addr: want host:port or nothing",
		"--leader-elect --leader-elect-retry-period=0s":       "--leader-elect-retry-period: want more than 0",
	} {
		_, err := parse(strings.Fields(args), &bytes.Buffer{})
		require.ErrorContains(t, err, want, args)
	}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--help"}, &out))
	require.Contains(t, out.String(), "--annotation-prefix")
}

func TestVersion_IsPrinted(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"--version"}, &out))
	require.Equal(t, version+"\n", out.String())
}
