package shards_test

import (
	"context"
	"fmt"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
)

// Two replicas share eight shards. One leaves, and the other gets them all.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	server, listener, stopped := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener(), make(chan error)
	go func() { stopped <- server.Serve(ctx, listener) }()

	first := start(server.RESTConfigFor(listener), "web-0")
	share(first)
	second := start(server.RESTConfigFor(listener), "web-1")
	share(first, second)
	fmt.Println("web-0 has", first.Held(), "and web-1 has", second.Held())

	for shard := range 8 {
		if _, done, ok := second.Begin(ctx, shard); ok {
			fmt.Println("web-1 reconciles the keys of", shard)
			done()
		}
	}

	fmt.Println("web-1 leaves:", second.leave())
	share(first)
	fmt.Println("web-0 has", first.Held())
	_ = first.leave()
	stop()
	<-stopped
	// Output:
	// web-0 has [0 1 3 4 6] and web-1 has [2 5 7]
	// web-1 reconciles the keys of 2
	// web-1 reconciles the keys of 5
	// web-1 reconciles the keys of 7
	// web-1 leaves: <nil>
	// web-0 has [0 1 2 3 4 5 6 7]
}

type replica struct {
	*shards.Member
	leave func() error
}

func start(config *rest.Config, identity string) replica {
	config.QPS = -1
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		panic(err)
	}
	m, err := shards.New(client, shards.Options{Namespace: "default", Name: "web", Identity: identity, Shards: 8})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return replica{m, func() error {
		stop()
		return <-ended
	}}
}

// share waits until the replicas have all eight shards, and each of them some.
func share(replicas ...replica) {
	for held, idle := 0, true; held != 8 || idle; <-time.After(time.Millisecond) {
		held, idle = 0, false
		for _, r := range replicas {
			n := len(r.Held())
			held, idle = held+n, idle || n == 0
		}
	}
}
