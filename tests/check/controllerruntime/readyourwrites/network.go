package main

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
)

// network is what the program's requests go through. It can break those that read Services.
type network struct {
	// loseHistory lets the server forget what happened while the network was broken. If it is nil, the network itself refuses the next watch
	// from a version with 410, as a server does whose history does not reach back so far.
	loseHistory func() error
	resource    string // that is cut off; empty is services

	mu      sync.Mutex // protects what follows
	broken  bool
	expired bool
	watches []io.Closer
}

func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = true
	for _, watch := range n.watches {
		_ = watch.Close()
	}
}

func (n *network) mend() error {
	if n.loseHistory != nil {
		if err := n.loseHistory(); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = false
	n.expired = n.loseHistory == nil
	return nil
}

func (n *network) around(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		query := r.URL.Query()
		if path.Base(r.URL.Path) != cmp.Or(n.resource, "services") || r.Method != http.MethodGet {
			return next.RoundTrip(r)
		}
		n.mu.Lock()
		broken := n.broken
		refused := !broken && n.expired && query.Has("watch") && !query.Has("sendInitialEvents")
		if refused {
			n.expired = false
		}
		n.mu.Unlock()
		if broken {
			return nil, errors.New("the network is broken")
		}
		if refused {
			const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`
			return &http.Response{StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(status)), Request: r}, nil
		}
		answer, err := next.RoundTrip(r)
		if err == nil && query.Has("watch") {
			n.mu.Lock()
			n.watches = append(n.watches, answer.Body)
			if n.broken { // it was answered while the network broke
				_ = answer.Body.Close()
			}
			n.mu.Unlock()
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
