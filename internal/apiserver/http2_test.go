package apiserver_test

import (
	"bufio"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
)

func TestServe_SpeaksHTTP2WithoutTLS(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{DialContext: c.Config.Dial, Protocols: protocols}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get(
			c.Config.Host + "/api/v1/services?watch=true&resourceVersion=" + strconv.FormatInt(c.Revision(), 10))
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, 2, resp.ProtoMajor)
		c.create("a")
		lines := bufio.NewScanner(resp.Body)
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), `"name":"a"`)
		c.Faults().DropWatches()
		require.False(t, lines.Scan())
		require.NoError(t, lines.Err())
	})
}
