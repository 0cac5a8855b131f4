package cache

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func statusFrame(code int, reason string) string {
	return `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason +
		`","code":` + strconv.Itoa(code) + "}}\n"
}

// strange is an event of an object that is no ConfigMap, or a bad one.
func strange(kind, more string) string {
	return `{"type":"ADDED","object":{"kind":"` + kind + `","apiVersion":"v1",` +
		`"metadata":{"namespace":"default","name":"x","resourceVersion":"11"}` + more + "}}\n"
}

func aMinute(http.ResponseWriter) { <-time.After(time.Minute) }

func aMinuteAndHangUp(w http.ResponseWriter) {
	aMinute(w)
	hangUp(w)
}

// cut is a watch that begins with text, and then ends. next is an event with the next version.
type cut struct {
	text func(next string) string
	end  func(http.ResponseWriter)
}

func text(s string) func(string) string { return func(string) string { return s } }

const someObject = `{"type":"ADDED","object":{"kind":"ConfigMap","api`

// cuts are watches as proxies and balancers end and garble them.
var cuts = map[string]cut{
	"between two events":               {func(next string) string { return next }, cleanly},
	"between two events, by a hang-up": {func(next string) string { return next }, hangUp},
	"in an event":                      {func(next string) string { return next + someObject }, cleanly},
	"in an event, by a hang-up":        {func(next string) string { return next + someObject }, hangUp},
	"at once":                          {text(""), cleanly},
	"at once, by a hang-up":            {text(""), hangUp},
	"idle for a minute":                {text(""), aMinute},
	"idle for a minute, by a hang-up":  {text(""), aMinuteAndHangUp},
	"idle in an event":                 {text(someObject), aMinute},
	"idle in an event, by a hang-up":   {text(someObject), aMinuteAndHangUp},
	"a page":                           {func(next string) string { return next + page }, cleanly},
	"a page, and then it waits":        {func(next string) string { return next + page + "\n" }, aMinute},
	"an empty event":                   {func(next string) string { return "{}\n" + next }, aMinute},
	"newlines":                         {func(next string) string { return "\n\n" + next + "\r\n\r\n" }, aMinute},
	"an unknown type": {func(next string) string {
		return strings.Replace(next, "ADDED", "GROWN", 1) + next
	}, aMinute},
	"a pod":             {func(next string) string { return strange("Pod", "") + next }, aMinute},
	"a bad object":      {func(next string) string { return strange("ConfigMap", `,"data":7`) + next }, aMinute},
	"an error":          {text(statusFrame(500, "InternalError")), cleanly},
	"an error, later":   {func(next string) string { return next + statusFrame(500, "InternalError") }, aMinute},
	"an expiry":         {func(next string) string { return next + statusFrame(410, "Expired") }, cleanly},
	"an empty error":    {text(`{"type":"ERROR"}` + "\n"), cleanly},
	"busy":              {text(statusFrame(429, "TooManyRequests")), cleanly},
	"a forbidden watch": {func(next string) string { return next + statusFrame(403, "Forbidden") }, cleanly},
}

// of makes the answer to a watch, which is one request later each time.
func (k cut) of(version *int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		*version++
		write(w, k.text(frameOf("ADDED", configMap("c", strconv.Itoa(*version)))))
		k.end(w)
	}
}

// cutWatches are stories of informers whose first two watches are cut.
func cutWatches() stories {
	table := stories{}
	for what, k := range cuts {
		table[what] = func(t *testing.T, c *transcript) {
			version := 10
			c.behind(t, false, func(p *proxy) { p.watches = []http.HandlerFunc{k.of(&version), k.of(&version)} })
		}
	}
	table["nothing is passed on before an event comes"] = func(t *testing.T, c *transcript) {
		late := func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(time.Minute)
			serveFrames(w, frameOf("ADDED", configMap("c", "11")))
		}
		c.behind(t, false, func(p *proxy) { p.watches = []http.HandlerFunc{late, late} })
	}
	return table
}

func TestCuts_OfAWatchLeadToTheRequestsEventsAndErrorsOfClientGo(t *testing.T) {
	cutWatches().compare(t)
}

func serveFrames(w http.ResponseWriter, frames string) {
	w.Header().Set("Content-Type", "application/json")
	write(w, frames)
}

// A streaming list that is cut is repeated by client-go at once and without end, and by ours as a paged list. So only
// the outcome is compared: both have the objects, and go on.
func TestCuts_OfAStreamingListDoNotKeepTheListAway(t *testing.T) {
	for what, k := range cuts {
		t.Run(what, func(t *testing.T) {
			withBoth(t, func(t *testing.T, m machinery, s *village) {
				c, version := &transcript{machinery: m, server: s}, 10
				c.behind(t, true, func(p *proxy) { p.watches = []http.HandlerFunc{k.of(&version), k.of(&version)} })
				told := map[string]bool{}
				for _, line := range c.events.copied() {
					told[line] = true
				}
				require.True(t, told["initial a@3"], told)
				require.True(t, told["initial b@4"], told)
			})
		})
	}
}
