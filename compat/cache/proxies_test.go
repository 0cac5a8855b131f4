package cache

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func answerWith(code int, contentType, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// brokenOff begins with text, and then ends as end says.
func brokenOff(text []byte, end func(http.ResponseWriter), headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		write(w, string(text))
		end(w)
	}
}

func cleanly(http.ResponseWriter) {}

func compressed(data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(data)
	_ = z.Close()
	return out.Bytes()
}

const (
	page      = "<html><body><h1>Something is wrong</h1></body></html>"
	forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`
	otherKind = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"8"},"items":[]}`
)

// spoiledAnswers are what proxies and balancers answer in place of a server.
var spoiledAnswers = map[string]http.HandlerFunc{
	"429, in 3 s":         answerWith(429, "text/plain", "busy", "Retry-After", "3"),
	"429":                 answerWith(429, "text/plain", "busy"),
	"500, a page":         answerWith(500, "text/html", page),
	"200, a page":         answerWith(200, "text/html", page),
	"200, a page as JSON": answerWith(200, "application/json", page),
	"200, nothing":        answerWith(200, "application/json", ""),
	"200, null":           answerWith(200, "application/json", "null"),
	"200, {}":             answerWith(200, "application/json", "{}"),
	"200, a status":       answerWith(200, "application/json", forbidden),
	"200, another kind":   answerWith(200, "application/json", otherKind),
	"204":                 answerWith(204, "application/json", ""),
	"302, to a login":     answerWith(302, "text/html", page, "Location", "/login"),
	"302, to itself": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.String(), http.StatusFound)
	},
	"401, a page":           answerWith(401, "text/html", page),
	"403, a page":           answerWith(403, "text/html", page),
	"404, a page":           answerWith(404, "text/html", page),
	"408, a page":           answerWith(408, "text/html", page),
	"413, a page":           answerWith(413, "text/html", page),
	"hang up":               func(w http.ResponseWriter, _ *http.Request) { hangUp(w) },
	"hang up after a while": func(w http.ResponseWriter, _ *http.Request) { <-time.After(10 * time.Second); hangUp(w) },
	"less than the length":  brokenOff(encodedList(), hangUp, "Content-Length", "9999"),
	"a cut gzip":            brokenOff(compressed(encodedList())[:60], cleanly, "Content-Encoding", "gzip"),
	"a chunk, and hang up":  brokenOff(encodedList()[:60], hangUp),
	"a chunk, and the end":  brokenOff(encodedList()[:60], cleanly),
}

// outages are answers after which a watch resumes here, and client-go lists.
var outages = map[string]http.HandlerFunc{
	"502, a page":       answerWith(502, "text/html", page),
	"503, a page":       answerWith(503, "text/html", page),
	"503, again in 2 s": answerWith(503, "text/html", page, "Retry-After", "2"),
	"504, a page":       answerWith(504, "text/html", page),
}

// spoiling says which requests get a spoiled answer.
var spoiling = map[string]func(p *proxy, a http.HandlerFunc){
	"lists":   func(p *proxy, a http.HandlerFunc) { p.lists = []http.HandlerFunc{a, a} },
	"watches": func(p *proxy, a http.HandlerFunc) { p.watches = []http.HandlerFunc{a, a} },
	"lists after an expired watch": func(p *proxy, a http.HandlerFunc) {
		p.lists = []http.HandlerFunc{serveList, a, a}
		p.watches = []http.HandlerFunc{answerWith(200, "application/json", statusFrame(410, "Expired"))}
	},
	"streams": func(p *proxy, a http.HandlerFunc) { p.watches = []http.HandlerFunc{a, a} },
}

func TestProxies_WhatTheyAnswerLeadsToTheRequestsEventsAndErrorsOfClientGo(t *testing.T) {
	table := stories{}
	for which, spoil := range spoiling {
		for what, a := range spoiledAnswers {
			table[which+"/"+what] = func(t *testing.T, c *transcript) {
				c.behind(t, which == "streams", func(p *proxy) { spoil(p, a) })
			}
		}
	}
	for what, a := range outages {
		table["lists/"+what] = func(t *testing.T, c *transcript) {
			c.behind(t, false, func(p *proxy) { p.lists = []http.HandlerFunc{a, a} })
		}
	}
	table.compare(t)
}

// client-go lists after each, and tells handlers of objects that have not changed.
func TestProxies_AnOutageOfTheWatchCostsNoList(t *testing.T) {
	for what, a := range outages {
		t.Run(what, func(t *testing.T) {
			withBoth(t, func(t *testing.T, m machinery, s *village) {
				c := &transcript{machinery: m, server: s}
				c.behind(t, false, func(p *proxy) { p.watches = []http.HandlerFunc{a, a} })
				lists := c.lists()
				inside := what == "503, again in 2 s" // client-go's REST client repeats the request by itself
				require.Equal(t, m.name == ourMachinery.name || inside, lists == 1)
				require.Contains(t, c.copied(), `synced true, version "10", keys [default/a default/b]`)
			})
		})
	}
}

func (c *transcript) lists() (n int) {
	for _, line := range c.copied() {
		if strings.Contains(line, "configmaps?") && !strings.Contains(line, "watch=true") {
			n++
		}
	}
	return n
}

// client-go lists again after each.
func TestProxies_AResetHTTP2StreamCostsNoList(t *testing.T) {
	reset := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	for what, k := range map[string]cut{
		"at once":        {text(""), reset},
		"in a minute":    {text(""), func(w http.ResponseWriter) { aMinute(w); reset(w) }},
		"after an event": {func(next string) string { return next }, func(w http.ResponseWriter) { aMinute(w); reset(w) }},
		"in an event":    {func(next string) string { return next + someObject }, reset},
	} {
		t.Run(what, func(t *testing.T) {
			withBoth(t, func(t *testing.T, m machinery, s *village) {
				c, version := &transcript{machinery: m, server: s}, 10
				c.behind(t, false, func(p *proxy) {
					p.http2, p.watches = true, []http.HandlerFunc{k.of(&version), k.of(&version)}
				})
				require.Equal(t, map[string]int{theirMachinery.name: 3, ourMachinery.name: 1}[m.name], c.lists(), c.copied())
				require.Equal(t, 12, version, "both watches were cut")
				added := slices.Contains(c.events.copied(), "add c@11")
				require.Equal(t, k.text("sent") != "", added)
			})
		})
	}
}
