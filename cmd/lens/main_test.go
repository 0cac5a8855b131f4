package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the wait for what must happen: long enough for any machine.
const patience = 5 * time.Minute

func TestRun_PrintedAddressOpensThePageAndTheStream(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, nil, in) }()
	defer func() {
		cancel()
		assert.NoError(t, <-ended)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, found := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	require.True(t, found, line)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	defer client.CloseIdleConnections()
	get := func(url string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		require.NoError(t, err)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.Equal(t, 200, answer.StatusCode)
		return answer
	}
	index := get(address)
	text, err := io.ReadAll(index.Body)
	require.NoError(t, err)
	index.Body.Close()
	assert.Contains(t, string(text), "<script type=\"module\"")
	assert.Empty(t, index.Request.URL.RawQuery, "the token is no longer in the address")
	stream := get(index.Request.URL.JoinPath("stream").String())
	defer stream.Body.Close()
	first, err := bufio.NewReader(stream.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "event: snapshot\n", first)
}

func TestParse_RefusesWhatOthersCouldReach(t *testing.T) {
	short := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(short, []byte("short\n"), 0o600))
	for _, c := range []struct{ args, want string }{
		{"--listen 0.0.0.0:0", "--token-file, --tls-cert and --tls-key are needed"},
		{"--listen :0", "are needed"},
		{"--listen 192.0.2.1:0 --token-file " + short, "are needed"},
		{"--listen here", "want host:port"},
		{"--tls-cert a", "want both or none"},
		{"--token-file " + short, "at least 16"},
		{"--token-file " + short + "x", "--token-file"},
		{"--session " + short, "--session"},
		{"--attach 127.0.0.1:1", "want both or none"},
		{"--attach 10.0.0.5:8082 --attach-token-file x", "on loopback"},
		{"--attach 127.0.0.1:1 --attach-token-file " + short, "at least 16"},
		{"--write", "no use without --kubeconfig"},
		{"--kubeconfig " + short + " --session x", "want one of them"},
		{"--kubeconfig " + short + "x", "kubeconfig"},
		{"extra", "flags only"},
	} {
		var out bytes.Buffer
		err := run(context.Background(), strings.Fields(c.args), &out)
		assert.ErrorContains(t, err, c.want, c.args)
	}
}
