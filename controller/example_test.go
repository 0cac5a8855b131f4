package controller_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"glasswatch/controller"
)

// A controller that brings the lights to where the switches are. The first attempt at the cellar fails.
func Example() {
	switches := map[string]string{"kitchen": "on", "cellar": "off"}
	attempts := 0
	done := make(chan string)
	c := controller.New[string](controller.Func[string](func(_ context.Context, room string) (controller.Result, error) {
		if attempts++; room == "cellar" && attempts == 2 {
			fmt.Println("cellar: nobody there, trying again")
			return controller.Result{}, errors.New("nobody there")
		}
		fmt.Printf("%s: light is %s\n", room, switches[room])
		done <- room
		return controller.Result{}, nil
	}), controller.Options[string]{Name: "lights", BaseDelay: time.Millisecond})

	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- c.Run(ctx) }()
	c.Enqueue("kitchen")
	<-done
	c.Enqueue("cellar")
	<-done
	stop()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// kitchen: light is on
	// cellar: nobody there, trying again
	// cellar: light is off
	// stopped: <nil>
}
