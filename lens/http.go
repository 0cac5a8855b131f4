package lens

import (
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:embed page.html
var files embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{"in": countdown, "count": count}).ParseFS(files, "page.html"))

// countdown says when something is due.
func countdown(due time.Time) string {
	left := time.Until(due)
	if left <= 0 {
		return "now"
	}
	return "in " + left.Round(100*time.Millisecond).String()
}

// Report is what the handler answers: as JSON to whoever accepts application/json, else as a page.
type Report struct {
	On          bool         `json:"on"`
	Informers   []Informer   `json:"informers"`
	Controllers []Controller `json:"controllers"`
	// Keys are those that wake themselves first, then those that are stuck, then those that were reconciled most often.
	// With ?key=namespace/name, only that one.
	Keys []Key  `json:"keys"`
	Key  string `json:"-"`
}

// maxListed is how many keys the page lists.
const maxListed = 200

// Handler answers below any path. GET shows the lens, GET with ?key=namespace/name one key; POST with ?on=true or
// ?on=false switches it, with ?ask=informer asks the server how far that informer is behind.
//
// It shows names of objects and errors of reconciles, to whoever can reach it. Serve it on loopback, or behind what
// guards the program's other debug handlers, such as net/http/pprof. A POST of another site is refused. So is, on
// loopback, a name other than localhost: somebody else's DNS may resolve it to loopback.
func (l *Lens) Handler() http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(l.serve))
}

func (l *Lens) serve(w http.ResponseWriter, r *http.Request) {
	if !isHost(r) {
		http.Error(w, "403: want localhost or an IP address as the host", http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodPost:
		l.act(w, r)
		return
	case http.MethodGet, http.MethodHead:
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "405: want GET, or POST to switch it or to ask a server", http.StatusMethodNotAllowed)
		return
	}
	report := l.report(r.URL.Query().Get("key"))
	w.Header().Set("Cache-Control", "no-store")
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(report) // an error is that of a client that has gone
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
	_ = page.Execute(w, report) // likewise
}

// act switches the lens, or asks a server.
func (l *Lens) act(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch on := query.Get("on"); {
	case query.Has("ask"):
		_, err := l.Ask(r.Context(), query.Get("ask"))
		if errors.Is(err, ErrCannotAsk) {
			http.Error(w, "404: "+err.Error(), http.StatusNotFound)
			return
		}
	case on == "true", on == "false":
		l.Switch(on == "true")
	default:
		http.Error(w, "400: want ?on=true, ?on=false, or ?ask= an informer", http.StatusBadRequest)
		return
	}
	w.Header().Set("Location", "?") // the same path, whatever prefix was stripped of it
	w.WriteHeader(http.StatusSeeOther)
}

// isHost keeps out names that somebody else's DNS resolves to loopback. An IP address is no name.
func isHost(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if local == nil || !local.IP.IsLoopback() {
		return true
	}
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = strings.Trim(r.Host, "[]") // without a port
	}
	return strings.EqualFold(name, "localhost") || net.ParseIP(name) != nil
}

func (l *Lens) report(key string) Report {
	queues := l.lookAtQueues() // once for a page: each queue has to wait while it is copied
	report := Report{On: l.IsOn(), Informers: l.Informers(), Controllers: controllersOf(queues), Key: key}
	report.Keys = l.keysThat(func(name id) bool { return key == "" || name.key == key })
	fillIn(report.Keys, queues)
	if key != "" {
		return report
	}
	slices.SortStableFunc(report.Keys, func(a, b Key) int {
		switch {
		case a.WakesItself != b.WakesItself:
			return first(a.WakesItself)
		case a.Stuck != b.Stuck:
			return first(a.Stuck)
		}
		return b.Total - a.Total
	})
	report.Keys = report.Keys[:min(len(report.Keys), maxListed)]
	return report
}

// first is how two compare of which one comes first.
func first(isA bool) int {
	if isA {
		return -1
	}
	return 1
}
