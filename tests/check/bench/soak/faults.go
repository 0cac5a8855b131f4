package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"glasswatch/internal/apiserver"
)

// fault is one thing that goes wrong.
type fault struct {
	name   string
	happen func(f *apiserver.Faults)
}

func failing(verb string, code int, retryAfter time.Duration) func(f *apiserver.Faults) {
	return func(f *apiserver.Faults) {
		f.FailNext(2, apiserver.Failure{Verb: verb, Resource: "configmaps", Code: code, RetryAfter: retryAfter})
		if verb != "update" {
			f.DropWatches() // so that a client sends a request
		}
	}
}

// faults are all kinds, each as likely as the others.
var kinds = []fault{
	{"a watch ends", func(f *apiserver.Faults) { f.DropWatches() }},
	{"a connection is torn", func(f *apiserver.Faults) { f.BreakWatches() }},
	{"history is forgotten", func(f *apiserver.Faults) { f.Compact(); f.ExpireWatches() }},
	{"a frame is cut", func(f *apiserver.Faults) { f.CutNextFrame() }},
	{"a frame is garbage", func(f *apiserver.Faults) { f.GarbleNextFrame() }},
	{"watches fail with 500", failing("watch", http.StatusInternalServerError, 0)},
	{"watches fail with 503", failing("watch", http.StatusServiceUnavailable, 0)},
	{"watches fail with 429", failing("watch", http.StatusTooManyRequests, time.Second)},
	{"watches are torn unanswered", failing("watch", 0, 0)},
	{"lists fail with 500", func(f *apiserver.Faults) {
		f.Compact()
		failing("list", http.StatusInternalServerError, 0)(f)
		f.ExpireWatches()
	}},
	{"updates fail with 500", failing("update", http.StatusInternalServerError, 0)},
	{"updates fail with 429", failing("update", http.StatusTooManyRequests, time.Second)},
	{"no streaming lists for a while", func(f *apiserver.Faults) {
		f.RefuseStreamingLists(true)
		time.AfterFunc(time.Second, func() { f.RefuseStreamingLists(false) })
		f.Compact()
		f.ExpireWatches()
	}},
}

// faults lets things go wrong till ctx ends.
func (w *world) faults(ctx context.Context) {
	if w.faultEvery == 0 {
		return
	}
	random := rand.New(rand.NewPCG(w.seed, 1000))
	tick := time.NewTicker(w.faultEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			kinds[random.IntN(len(kinds))].happen(w.server.Faults())
			w.faultCount.Add(1)
		}
	}
}
