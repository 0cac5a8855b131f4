package reflector_test

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// A server that knows no streaming lists, holds one object, and breaks its watch after one event.
type smallServer struct{ watches int }

type meta = *metav1.PartialObjectMetadata

func thing(name, version string) meta {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

func (s *smallServer) List(context.Context, metav1.ListOptions) (*listwatch.List[meta], error) {
	return &listwatch.List[meta]{ResourceVersion: "7", Items: []meta{thing("a", "5")}}, nil
}

func (s *smallServer) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[meta], error) {
	s.watches++
	st := &smallStream{ctx: ctx}
	if s.watches == 1 {
		st.events = []listwatch.Event[meta]{{Type: listwatch.Modified, Object: thing("a", "8"), ResourceVersion: "8"}}
		st.ends = true
	}
	fmt.Println("server: watch from", opts.ResourceVersion)
	return st, nil
}

type smallStream struct {
	ctx    context.Context
	events []listwatch.Event[meta]
	ends   bool
}

func (st *smallStream) Next() (listwatch.Event[meta], error) {
	if len(st.events) > 0 {
		ev := st.events[0]
		st.events = st.events[1:]
		return ev, nil
	}
	if st.ends {
		return listwatch.Event[meta]{}, io.EOF
	}
	<-st.ctx.Done()
	return listwatch.Event[meta]{}, st.ctx.Err()
}

func (st *smallStream) Close() error { return nil }

// A sink that prints what it is told.
type printer struct{}

func (printer) Add(obj meta) error                { return say("sink: add", obj.Name, obj.ResourceVersion) }
func (printer) Update(obj meta) error             { return say("sink: update", obj.Name, obj.ResourceVersion) }
func (printer) Delete(obj meta) error             { return say("sink: delete", obj.Name, obj.ResourceVersion) }
func (printer) DeleteKey(key listwatch.Key) error { return say("sink: delete", key) }
func (printer) Bookmark(version string) error     { return say("sink: bookmark", version) }
func (printer) Replace(objs []meta, _ []listwatch.Key, version string) error {
	return say("sink: replace with", len(objs), "object at", version)
}

func say(words ...any) error {
	_, err := fmt.Println(words...)
	return err
}

func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	watching := 0
	r := reflector.New(&smallServer{}, printer{}, reflector.Options{
		DisableStreamingList: true,
		OnTransition: func(from, to reflector.State) {
			fmt.Println(from, "→", to)
			if to == reflector.Watching {
				if watching++; watching == 2 {
					stop()
				}
			}
		},
	})
	r.Run(ctx)
	fmt.Println("at", r.LastSyncResourceVersion())
	// Output:
	// Idle → ListingPaged
	// sink: replace with 1 object at 7
	// ListingPaged → Connecting
	// server: watch from 7
	// Connecting → Watching
	// sink: update a 8
	// Watching → Connecting
	// server: watch from 8
	// Connecting → Watching
	// Watching → Stopped
	// at 8
}
