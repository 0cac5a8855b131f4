package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver/apiservertest"
)

// report is what a user reads of the lens's JSON.
type report struct {
	Informers []struct {
		Name   string
		Synced bool
	}
	Keys []struct {
		Key         string
		WakesItself bool
		Flapping    []string
	}
}

func TestWhy_AProgramOnControllerRuntimeIsAskedOverHTTP(t *testing.T) {
	program := filepath.Join(build(t, "why", "."), "why")
	c := newCluster(t)
	p := start(t, c, program)
	page := p.next()
	defer http.DefaultClient.CloseIdleConnections()
	ask := func(method, query, accept string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, page+query, nil)
		require.NoError(t, err)
		r.Header.Set("Accept", accept)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, "%s", text)
		return string(text)
	}
	require.Contains(t, ask("GET", "", "text/html"), "The lens is off")
	require.Contains(t, ask("POST", "?on=true", "text/html"), "The lens is on")
	require.NoError(t, createConfigMap(t.Context(), c.client))

	var got report
	apiservertest.Eventually(t, "the lens finds the hot loop", func() error {
		got = report{}
		require.NoError(t, json.Unmarshal([]byte(ask("GET", "?key=default/web", "application/json")), &got))
		if len(got.Keys) != 1 || !got.Keys[0].WakesItself {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	require.Equal(t, []string{".metadata.annotations.copied-at"}, got.Keys[0].Flapping)
	require.Equal(t, "*v1.ConfigMap", got.Informers[0].Name)
	require.Equal(t, "*v1.Secret", got.Informers[1].Name)
	require.True(t, got.Informers[1].Synced)
	html := ask("GET", "?key=default/web", "text/html")
	require.Contains(t, html, "It wakes itself: its last reconciles were caused by its own writes, which changed <code>.metadata.annotations.copied-at</code>.")
	behind := regexp.MustCompile(`<td>\*v1.ConfigMap<td>yes.*\n.*the server at \d+ has no change that it has not`)
	apiservertest.Eventually(t, "the server says how far the informer is behind", func() error {
		if html := ask("POST", "?ask=%2Av1.ConfigMap", "text/html"); !behind.MatchString(html) {
			return errors.New(html)
		}
		return nil
	})
	_, err := p.end(syscall.SIGTERM)
	require.NoError(t, err)
}
