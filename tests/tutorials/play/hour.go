package play

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// Hour is an hour in a cluster, with all that can happen to a watch. A program watches it, says what it sees, and is told at the end
// what it lost, what it saw twice, and what it asked of the server.
type Hour struct {
	p      *Play
	Config *rest.Config // for clients whose lists are counted

	mu            sync.Mutex // protects what follows
	happened, saw []string
	lists         int       // that were answered, streaming or not
	watching      time.Time // when the last watch was answered
}

// Hour makes one. An object is there already. No list has more than one, for lists have no order to rely on.
func (p *Play) Hour() *Hour {
	h := &Hour{p: p, Config: rest.CopyConfig(p.Config())}
	h.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
			req = withoutChance(req)
			resp, err := next.RoundTrip(req)
			if err == nil && resp.StatusCode == http.StatusOK {
				h.count(req)
			}
			return resp, err
		})
	})
	h.put("a", "1")
	return h
}

// withoutChance gives a watch a fixed time. A reflector asks for five to ten minutes, by chance. A watch that began less than a second
// before it breaks counts as very short, and costs a list. With 290 seconds none of the hour's faults finds one that young: see
// checkWatch.
func withoutChance(req *http.Request) *http.Request {
	query := req.URL.Query()
	if query.Get("timeoutSeconds") == "" {
		return req
	}
	query.Set("timeoutSeconds", "290")
	req = req.Clone(req.Context())
	req.URL.RawQuery = query.Encode()
	return req
}

func (h *Hour) count(req *http.Request) {
	query := req.URL.Query()
	isWatch := query.Get("watch") != ""
	h.mu.Lock()
	defer h.mu.Unlock()
	if isWatch {
		h.watching = time.Now()
	}
	if !isWatch || query.Get("sendInitialEvents") != "" {
		h.lists++
	}
}

// checkWatch is called before the watch is ended.
func (h *Hour) checkWatch() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if age := time.Since(h.watching); age < time.Second {
		h.p.t.Errorf("a fault finds a watch that is %v old: if the program has to list again, that is left to chance", age)
	}
}

// Client is a clientset whose lists are counted.
func (h *Hour) Client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(h.Config) }

// Saw is told of each event: which, and of what.
func (h *Hour) Saw(event string, obj *corev1.ConfigMap) {
	state := obj.Name + "=" + obj.Data["value"]
	if strings.EqualFold(event, "deleted") {
		state = obj.Name + " gone"
	}
	h.p.Print("%s  %-8s %s", h.minute(), event, state)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.saw = append(h.saw, state)
}

// minute is the time, to five minutes: how long a client waits before it tries again is left to chance.
func (h *Hour) minute() string {
	return time.Time{}.Add(time.Since(h.p.began).Truncate(5 * time.Minute)).Format("15:04")
}

// Ended says that the program has given up.
func (h *Hour) Ended(why metav1.StatusReason) { h.p.Print("%s  ended: %s", h.minute(), why) }

func (h *Hour) note(state string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.happened = append(h.happened, state)
}

func (h *Hour) put(name, value string) {
	h.p.Server().Put(name, value)
	h.note(name + "=" + value)
}

func (h *Hour) remove(name string) {
	h.p.Server().Delete(name)
	h.note(name + " gone")
}

// Play lets the hour pass, and prints the end of it.
func (h *Hour) Play() {
	say := func(what string) { h.p.Print("%s  -- %s", h.minute(), what) }
	h.p.Pass(10 * time.Minute)
	h.put("a", "2")
	h.p.Pass(time.Minute)
	h.put("b", "1")

	h.p.Pass(9 * time.Minute)
	say("the connection breaks; nothing is answered for a minute, in which b changes twice and a goes")
	h.away(func() {
		h.put("b", "2")
		h.put("b", "3")
		h.remove("a")
	})

	h.p.Pass(19 * time.Minute)
	say("the server ends the watch, as it does after 30 to 60 minutes")
	h.checkWatch()
	h.p.Server().Faults().DropWatches()
	h.p.Pass(time.Minute)
	h.put("b", "4")

	h.p.Pass(9 * time.Minute)
	say("it breaks again for a minute; d comes and goes, and the server forgets it: 410")
	h.away(func() {
		h.put("d", "1")
		h.remove("d")
		h.p.Server().Faults().Compact()
	})

	h.p.Pass(4 * time.Minute)
	h.put("c", "1")
	h.p.Pass(5 * time.Minute)
	h.report()
}

// away lets something happen while no watch is open, for a minute in all.
func (h *Hour) away(happens func()) {
	h.checkWatch()
	faults := h.p.Server().Faults()
	faults.FailNext(-1, apiserver.Failure{Verb: "watch", Code: http.StatusServiceUnavailable})
	faults.FailNext(-1, apiserver.Failure{Verb: "list", Code: http.StatusServiceUnavailable})
	faults.BreakWatches()
	h.p.Pass(30 * time.Second)
	happens()
	h.p.Pass(30 * time.Second)
	faults.Reset()
}

// Lists is the number of lists that were answered.
func (h *Hour) Lists() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lists
}

func (h *Hour) report() {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lost, repeated []string
	for _, state := range h.happened {
		if !slices.Contains(h.saw, state) {
			lost = append(lost, state)
		}
	}
	for i, state := range h.saw {
		if slices.Contains(h.saw[:i], state) && !slices.Contains(repeated, state) {
			repeated = append(repeated, state)
		}
	}
	h.p.Print("lost: %s", strings.Join(lost, ", "))
	h.p.Print("repeated: %s", strings.Join(repeated, ", "))
	h.p.Print("lists: %d", h.lists)
}

// CompactEvery forgets history as kube-apiserver lets etcd do it: each time, what was old the time before.
func (p *Play) CompactEvery(period time.Duration) {
	server := p.Server()
	p.Go(func(ctx context.Context) {
		before := server.Revision()
		for tick := time.Tick(period); ; {
			select {
			case <-tick:
				server.Faults().CompactTo(before)
				before = server.Revision()
			case <-ctx.Done():
				return
			}
		}
	})
}
