package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"glasswatch/tests/check/bench/internal/usage"
)

// patience is how long a subject may take to sync. Five on one core that the others use as well are slow.
const patience = 20 * time.Minute

// memberTask is the first input of a measured process.
type memberTask struct {
	Variant string
	URL     string
	Shard   int // of Shards
	Shards  int // 1: everything
}

// memberFigures are what a measured process has used up, and seen, so far.
type memberFigures struct {
	At       time.Time
	CPU      time.Duration
	Bytes    int64 // read from the server's connections
	Events   int64 // calls of the handler, without those of the initial list
	Foreign  int64 // objects of other shards that the server has sent
	P50, P99 time.Duration
	Resident uint64
	Peak     uint64
}

// syncFigures are of the time from the start until the handler has been given what there was.
type syncFigures struct {
	Wall, CPU time.Duration
	Bytes     int64
}

// held is what a member holds at rest.
type held struct {
	Objects int
	Live    uint64 // the heap after a collection, less what it was before the start
}

// memberProcess is an informer that is measured.
type memberProcess struct {
	task    memberTask
	before  uint64
	bytes   atomic.Int64
	handler handler
	subject *running
}

// measure is the measured process.
func measure(in io.Reader, out io.Writer) error {
	read := json.NewDecoder(in)
	m := &memberProcess{}
	if err := read.Decode(&m.task); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	return obey(read, out, orders{"ready": m.ready, "sync": m.sync, "usage": m.usage, "state": m.state, "hold": m.hold})
}

func (m *memberProcess) ready() (any, error) {
	m.before = usage.LiveHeap()
	return struct{}{}, nil
}

// sync starts the subject, which then runs as long as the process.
func (m *memberProcess) sync() (any, error) {
	begin, ok := subjects[m.task.Variant]
	if !ok {
		return nil, fmt.Errorf("no variant %q", m.task.Variant)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	before := usage.Now()
	subject, err := begin(ctx, m)
	if err != nil {
		return nil, err
	}
	m.subject = subject
	after := usage.Now()
	return syncFigures{Wall: after.At.Sub(before.At), CPU: after.CPU - before.CPU, Bytes: m.bytes.Load()}, nil
}

func (m *memberProcess) usage() (any, error) {
	now := usage.Now()
	f := memberFigures{At: now.At, CPU: now.CPU, Bytes: m.bytes.Load(), Resident: usage.Resident(), Peak: usage.Peak()}
	f.Events, f.P50, f.P99 = m.handler.take()
	f.Foreign = m.handler.foreign.Load()
	return f, nil
}

func (m *memberProcess) state() (any, error) {
	var s state
	for obj := range m.subject.all {
		s.add(obj)
	}
	return s, nil
}

func (m *memberProcess) hold() (any, error) {
	m.handler.take() // its list of delays is no part of the informer
	live := usage.LiveHeap()
	n := 0
	for range m.subject.all {
		n++
	}
	own := m.before + m.subject.apart
	return held{Objects: n, Live: max(live, own) - own}, nil
}

// config has no rate limit. It counts what its connections read.
func (m *memberProcess) config() *rest.Config {
	cfg := &rest.Config{Host: m.task.URL, QPS: -1}
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return countingConn{conn, &m.bytes}, nil
	}
	return cfg
}

type countingConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countingConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.bytes.Add(int64(n))
	return n, err
}

// handler counts a subject's calls, and takes down how late they come.
type handler struct {
	events  atomic.Int64
	foreign atomic.Int64

	mu   sync.Mutex // protects late
	late []time.Duration
}

// written takes in an object that was created or updated.
func (h *handler) written(obj *corev1.ConfigMap) {
	h.events.Add(1)
	sent, err := strconv.ParseInt(obj.Data[sentKey], 10, 64)
	if err != nil {
		return // the population always says when
	}
	late := time.Since(time.Unix(0, sent))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late = append(h.late, late)
}

// take returns the number of calls so far, and how late those since the last take were.
func (h *handler) take() (events int64, p50, p99 time.Duration) {
	h.mu.Lock()
	late := h.late
	h.late = nil
	h.mu.Unlock()
	slices.SortFunc(late, cmp.Compare)
	if n := len(late); n > 0 {
		p50, p99 = late[(n-1)/2], late[(n-1)*99/100]
	}
	return h.events.Load(), p50, p99
}
