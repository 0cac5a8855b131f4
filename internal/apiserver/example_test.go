package apiserver_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver"
)

// A program talks to the server through client-go's ordinary clientset, over an in-memory listener.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
	stopped := make(chan error)
	go func() { stopped <- server.Serve(ctx, listener) }()

	client := kubernetes.NewForConfigOrDie(server.RESTConfigFor(listener))
	maps := client.CoreV1().ConfigMaps("default")
	made, _ := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}, metav1.CreateOptions{})

	changes, _ := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	defer changes.Stop()
	made.Data = map[string]string{"hello": "world"}
	_, _ = maps.Update(ctx, made, metav1.UpdateOptions{})
	event := <-changes.ResultChan()
	fmt.Println(event.Type, event.Object.(*corev1.ConfigMap).Data)

	_, err := maps.Update(ctx, made, metav1.UpdateOptions{}) // with a resourceVersion that is no longer the newest
	fmt.Println("conflict:", apierrors.IsConflict(err))

	server.Faults().Compact()
	late, _ := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	defer late.Stop()
	event = <-late.ResultChan()
	fmt.Println(event.Type, event.Object.(*metav1.Status).Reason)

	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// MODIFIED map[hello:world]
	// conflict: true
	// ERROR Expired
	// stopped: <nil>
}

// Faults hit the next requests that match.
func ExampleFaults_FailNext() {
	ctx, cancel := context.WithCancel(context.Background())
	server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
	stopped := make(chan error)
	go func() { stopped <- server.Serve(ctx, listener) }()
	services := kubernetes.NewForConfigOrDie(server.RESTConfigFor(listener)).CoreV1().Services("default")

	server.Faults().FailNext(1, apiserver.Failure{Verb: "list", Code: 403, Message: "not today"})
	_, err := services.List(ctx, metav1.ListOptions{})
	fmt.Println(err)
	list, _ := services.List(ctx, metav1.ListOptions{})
	fmt.Println(len(list.Items), "service")

	cancel()
	<-stopped
	// Output:
	// not today
	// 1 service
}
