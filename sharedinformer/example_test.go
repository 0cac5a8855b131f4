package sharedinformer

import (
	"context"
	"fmt"
)

// One informer, two handlers: the second comes late and is given the store as adds.
func Example() {
	server := newServer() // any listwatch.ListerWatcher
	server.Put("web", "1")
	informer := New[*config](server, Options[*config]{Name: "configs"})

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- informer.Run(ctx) }()

	said := make(chan string)
	speaker := func(who string) Handler[*config] {
		return HandlerFuncs[*config]{
			AddFunc: func(obj *config, isInInitialList bool) {
				said <- fmt.Sprintf("%s: add %s, initial: %v", who, obj.Name, isInInitialList)
			},
			UpdateFunc: func(oldObj, newObj *config) {
				said <- fmt.Sprintf("%s: update %s from %s to %s", who, newObj.Name, oldObj.Data["value"], newObj.Data["value"])
			},
			DeleteFunc: func(d Deletion[*config]) { said <- fmt.Sprintf("%s: delete %s", who, d.Key.Name) },
		}
	}
	if err := informer.WaitForSync(ctx); err != nil {
		fmt.Println(err)
	}
	early, _ := informer.AddHandler(speaker("early"), HandlerOptions{Name: "early"})
	fmt.Println(<-said)
	server.Put("web", "2")
	fmt.Println(<-said)
	_ = informer.RemoveHandler(early)
	<-early.Done()

	_, _ = informer.AddHandler(speaker("late"), HandlerOptions{Name: "late"})
	fmt.Println(<-said)
	server.Delete("web")
	fmt.Println(<-said)

	_, err := informer.Lister().Namespace("default").Get("web")
	fmt.Println(err)
	cancel()
	fmt.Println(<-stopped)
	// Output:
	// early: add web, initial: true
	// early: update web from 1 to 2
	// late: add web, initial: true
	// late: delete web
	// configmaps "web" not found
	// <nil>
}
