package indexer_test

import (
	"fmt"
	"strings"

	"glasswatch/indexer"
)

type pod struct{ name, node string }

func newPods() *indexer.Store[string, pod] {
	return indexer.New(indexer.Options[string, pod]{
		KeyFunc: func(p pod) (string, error) { return p.name, nil },
		Compare: strings.Compare,
		Indexers: indexer.Indexers[pod]{
			"node": func(p pod, dst []string) ([]string, error) { return append(dst, p.node), nil },
		},
	})
}

func Example() {
	pods := newPods()
	_ = pods.Add(pod{"web-1", "blue"})
	_ = pods.Add(pod{"web-2", "green"})
	_ = pods.Add(pod{"db-0", "blue"})

	before := pods.Snapshot()
	_ = pods.Update(pod{"web-1", "green"}) // it moved

	keys, _ := pods.IndexKeys("node", "green")
	fmt.Println("green now:   ", keys)
	seq, _ := before.ByIndex("node", "green")
	for key := range seq {
		fmt.Println("green before:", key)
	}
	fmt.Println("nodes:       ", pods.ListIndexValues("node"))
	// Output:
	// green now:    [web-1 web-2]
	// green before: web-2
	// nodes:        [blue green]
}

func ExampleStore_Apply() {
	pods := newPods()
	_ = pods.Add(pod{"web-1", "blue"})

	ops := []indexer.Op[string, pod]{
		{Key: "web-1", Delete: true},
		{Key: "web-2", Obj: pod{"web-2", "blue"}},
	}
	pods.Apply(ops, "42")
	for _, op := range ops {
		fmt.Println(op.Key, "was there before:", op.Existed)
	}
	fmt.Println(pods.ListKeys(), "at", pods.ResourceVersion())
	// Output:
	// web-1 was there before: true
	// web-2 was there before: false
	// [web-2] at 42
}

func ExampleStore_AddIndexers() {
	pods := newPods()
	_ = pods.Add(pod{"web-1", "blue"})
	_ = pods.Add(pod{"db-0", "blue"})

	app := func(p pod, dst []string) ([]string, error) {
		name, _, _ := strings.Cut(p.name, "-")
		return append(dst, name), nil
	}
	fmt.Println(pods.AddIndexers(indexer.Indexers[pod]{"app": app}))
	fmt.Println(pods.AddIndexers(indexer.Indexers[pod]{"app": app}))
	fmt.Println(pods.ListIndexValues("app"))
	// Output:
	// <nil>
	// indexer: there is an index "app" already
	// [db web]
}
