package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// quick is a small run: its figures of memory and time are not those of a million objects.
func quick(t *testing.T) options {
	dir := t.TempDir()
	o := options{
		n: 20_000, rate: 2000, rounds: 1, history: 20_000,
		calm: time.Second / 5, steady: time.Second / 2, settling: 5 * time.Minute,
		write: true, page: filepath.Join(dir, "page.md"), raw: filepath.Join(dir, "raw.txt"),
	}
	require.NoError(t, os.WriteFile(o.page, []byte("before\n<!-- make scale -->\nold\n<!-- end -->\nafter\n"), 0o644))
	return o
}

// The run itself fails if the stores of a setup do not hold what the server holds.
func TestRun_MeasuresEachSetupAndWritesThePage(t *testing.T) {
	o := quick(t)
	require.NoError(t, run(t.Context(), o, io.Discard, io.Discard))
	page, err := os.ReadFile(o.page)
	require.NoError(t, err)
	text := string(page)
	require.True(t, strings.HasPrefix(text, "before\n<!-- make scale -->\n") && strings.HasSuffix(text, "<!-- end -->\nafter\n"))
	require.NotContains(t, text, "old\n")
	require.NotContains(t, text, "not measured")
	raw, err := os.ReadFile(o.raw)
	require.NoError(t, err)
	for _, s := range setups {
		require.Contains(t, text, "\n| "+s.title+" | ")
		require.Contains(t, string(raw), "/setup="+s.name+"-")
	}
	// A busy machine lets the ratios vary, but not so far. Those of so few changes say nothing.
	const row = `bytes of the largest, to sync \| 0.22× `
	require.Regexp(t, `\| five shards: `+row+`\| 0\.[123]\d\d× \| (met with exact fifths; .*0\.233|\*\*missed)`, text)
	require.Regexp(t, `\| five shards, server without: `+row+`\| (0\.[4-9]|[1-9]\.)\d+× \| \*\*missed\*\* \|`, text)
}

func TestCampaign_FailsIfTheStoresAreNotTheServers(t *testing.T) {
	o := quick(t)
	o.n = 100
	c := &campaign{options: o, log: io.Discard}
	missing := []setup{{"one-of-five", "", glasswatch, 1, true}}
	require.NoError(t, c.onServer(t.Context(), missing), "one of one is the whole")
	c.settling = time.Second / 10

	task := serverTask{Objects: o.n, Rate: o.rate, History: o.history, Shards: true}
	server, err := start(t.Context(), serveFlag, task)
	require.NoError(t, err)
	var filled ready
	require.NoError(t, server.ask("fill", &filled))
	part := memberTask{Variant: glasswatch, URL: filled.URL, Shard: 3, Shards: 5}
	member, err := start(t.Context(), measureFlag, part)
	require.NoError(t, err)
	require.NoError(t, member.ask("ready", &struct{}{}))
	require.NoError(t, member.ask("sync", &syncFigures{}))
	require.ErrorContains(t, c.settle(t.Context(), server, crew{member}), "not 100, sum")
	require.NoError(t, member.end())
	require.NoError(t, server.end())
}

func TestChildren_SayWhatIsWrong(t *testing.T) {
	c, err := start(t.Context(), measureFlag, memberTask{Variant: "another"})
	require.NoError(t, err)
	require.Error(t, c.ask("sync", &syncFigures{}))
	require.ErrorContains(t, c.kill(), `no variant "another"`)

	c, err = start(t.Context(), measureFlag, memberTask{Variant: clientGo, Shards: 5})
	require.NoError(t, err)
	require.Error(t, c.ask("sync", &syncFigures{}))
	require.ErrorContains(t, c.end(), "client-go has no shards")

	c, err = start(t.Context(), serveFlag, "no task")
	require.NoError(t, err)
	require.ErrorContains(t, c.end(), "task")

	c, err = start(t.Context(), measureFlag, memberTask{})
	require.NoError(t, err)
	require.Error(t, c.ask("dance", &struct{}{}))
	require.ErrorContains(t, c.end(), `no order "dance"`)
}

func TestRun_RefusesWhatItCannotMeasure(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), options{}, io.Discard, io.Discard), "at least 1")
	r := &report{options: options{write: true, page: filepath.Join(t.TempDir(), "none")}}
	require.ErrorIs(t, r.publish(&bytes.Buffer{}), os.ErrNotExist)
}
