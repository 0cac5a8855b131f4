// Package swapabuffer is exercise 05. Its README says what to do.
package swapabuffer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type thing = *metav1.PartialObjectMetadata

// server lists a, b and c, and then sends what it is told to.
type server struct{ events chan listwatch.Event[thing] }

func (s server) List(context.Context, metav1.ListOptions) (*listwatch.List[thing], error) {
	return &listwatch.List[thing]{ResourceVersion: "1", Items: []thing{named("a", 1), named("b", 1), named("c", 1)}}, nil
}

func (s server) Watch(ctx context.Context, _ metav1.ListOptions) (listwatch.Stream[thing], error) {
	return stream{s, ctx}, nil
}

type stream struct {
	server
	ctx context.Context
}

func (s stream) Next() (listwatch.Event[thing], error) {
	select {
	case e := <-s.events:
		return e, nil
	case <-s.ctx.Done():
		return listwatch.Event[thing]{}, s.ctx.Err()
	}
}

func (s stream) Close() error { return nil }

func named(name string, version int) thing {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: fmt.Sprint(version)}}
}

// play lets an informer run with one handler, which waits at each call for a word on calls before it writes it down.
type play struct {
	*testing.T
	server
	version int
	told    []string
	calls   chan struct{}
}

func newPlay(t *testing.T) *play {
	p := &play{T: t, server: server{make(chan listwatch.Event[thing])}, version: 1, calls: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	note := func(format string, args ...any) {
		select {
		case <-p.calls:
			p.told = append(p.told, fmt.Sprintf(format, args...))
		case <-ctx.Done():
		}
	}
	options := sharedinformer.Options[thing]{}
	options.Reflector.DisableStreamingList = true
	informer := sharedinformer.New[thing](p.server, options)
	_, err := informer.AddHandler(sharedinformer.HandlerFuncs[thing]{
		AddFunc:    func(obj thing, _ bool) { note("+%s%s", obj.Name, obj.ResourceVersion) },
		UpdateFunc: func(_, obj thing) { note("%s%s", obj.Name, obj.ResourceVersion) },
		DeleteFunc: func(d sharedinformer.Deletion[thing]) { note("-%s", d.Key.Name) },
	}, sharedinformer.HandlerOptions{})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = informer.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return p
}

// Change sends an event, which reaches the handler's backlog.
func (p *play) Change(kind listwatch.EventType, name string) {
	p.version++
	p.events <- listwatch.Event[thing]{Type: kind, Object: named(name, p.version), ResourceVersion: fmt.Sprint(p.version)}
	synctest.Wait()
}

// Let lets the handler come back from n calls, or from as many as there are.
func (p *play) Let(n int) {
	for range n {
		select {
		case p.calls <- struct{}{}:
			synctest.Wait()
		default:
			return
		}
	}
}

// Expect wants the handler to have been told all this.
func (p *play) Expect(told string) {
	p.Helper()
	require.Equal(p, told, strings.Join(p.told, " "))
}

func TestSwapABuffer(t *testing.T) {
	act := func(name string, tell func(p *play)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { tell(newPlay(t)) }) })
	}
	act("1 the handler is told of what waits for it", func(p *play) {
		p.Let(3)
		p.Expect("+a1 +b1 +c1")
	})
	act("2 once", func(p *play) {
		p.Let(10)
		p.Expect("+a1 +b1 +c1")
	})
	act("3 what comes while it is called does not get among what it has taken", func(p *play) {
		p.Change(listwatch.Modified, "a") // the handler is at its first call, and has three
		p.Change(listwatch.Modified, "b")
		p.Change(listwatch.Deleted, "c")
		p.Let(10)
		p.Expect("+a1 +b1 +c1 a2 b3 -c")
	})
	act("4 nor in the rounds after that, when the buffers have changed places", func(p *play) {
		p.Let(10)
		var want strings.Builder
		want.WriteString("+a1 +b1 +c1")
		for range 5 {
			p.Change(listwatch.Modified, "a")
			p.Change(listwatch.Modified, "b")
			p.Let(1)
			p.Change(listwatch.Modified, "c")
			p.Let(10)
			fmt.Fprintf(&want, " a%d b%d c%d", p.version-2, p.version-1, p.version)
		}
		p.Expect(want.String())
	})
}
