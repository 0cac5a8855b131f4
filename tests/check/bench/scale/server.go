package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"glasswatch/internal/apiserver"
	"glasswatch/tests/check/bench/internal/usage"
)

// serverTask is the first input of a serving process.
type serverTask struct {
	Objects int
	Rate    int // changes a second, while there is load
	History int // changes that a watch may be behind
	Shards  bool
}

// ready is a serving process's answer to "fill".
type ready struct {
	URL  string
	Took time.Duration
	Live uint64 // the heap after a collection, less what it was before
}

// serverFigures are what a serving process has used up, and done, so far.
type serverFigures struct {
	At       time.Time
	CPU      time.Duration
	Changes  int64
	Resident uint64
}

// serverProcess is the API server, its objects and their changes. Its orders come one after the other.
type serverProcess struct {
	task   serverTask
	api    *apiserver.Server
	url    string
	people *population
	stop   func() error // the load; nil if there is none
}

// serve is the serving process.
func serve(in io.Reader, out io.Writer) (err error) {
	read := json.NewDecoder(in)
	p := &serverProcess{}
	if err := read.Decode(&p.task); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.url = "http://" + l.Addr().String()
	p.api = apiserver.New(apiserver.Options{HistoryLimit: p.task.History, DisableShards: !p.task.Shards})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.api.Serve(ctx, l) }()
	err = obey(read, out, orders{
		"fill": p.fill, "load": p.load, "rest": p.rest, "usage": p.usage, "state": p.state,
		"tidy": func() (any, error) { return usage.LiveHeap(), nil },
	})
	_, rested := p.rest()
	cancel()
	return errors.Join(err, rested, <-served)
}

func (p *serverProcess) fill() (any, error) {
	before, began := usage.LiveHeap(), time.Now()
	people, err := populate(p.api, p.task.Objects)
	if err != nil {
		return nil, err
	}
	p.people = people
	took := time.Since(began)
	return ready{URL: p.url, Took: took, Live: usage.LiveHeap() - before}, nil
}

// load begins to change objects, until rest.
func (p *serverProcess) load() (any, error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.people.churn(ctx, p.task.Rate) }()
	p.stop = func() error {
		cancel()
		return <-ended
	}
	return struct{}{}, nil
}

func (p *serverProcess) rest() (any, error) {
	if p.stop == nil {
		return struct{}{}, nil
	}
	stop := p.stop
	p.stop = nil
	return struct{}{}, stop()
}

func (p *serverProcess) usage() (any, error) {
	now := usage.Now()
	return serverFigures{At: now.At, CPU: now.CPU, Changes: p.people.changes.Load(), Resident: usage.Resident()}, nil
}

// state must not be asked for under load.
func (p *serverProcess) state() (any, error) { return p.people.state, nil }
