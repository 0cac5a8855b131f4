package listwatch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
)

// List what is there, then watch what happens next: the two requests under every informer.
func Example() {
	server := httptest.NewServer(&shop{})
	defer server.Close()
	ctx := context.Background()

	client, err := listwatch.NewForConfig[*corev1.Service](&rest.Config{Host: server.URL},
		schema.GroupVersionResource{Version: "v1", Resource: "services"}, listwatch.Options{Namespace: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	list, err := listwatch.ListAll(ctx, client, metav1.ListOptions{}, 500)
	if err != nil {
		log.Fatal(err)
	}
	for _, service := range list.Items {
		fmt.Println("LISTED", listwatch.KeyOf(service))
	}
	for _, bad := range list.Bad {
		fmt.Println("BAD", bad.Key)
	}

	stream, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true})
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	for {
		ev, err := stream.Next()
		var bad *listwatch.ObjectError
		switch {
		case err == io.EOF:
			fmt.Println("the server ended the watch")
			return
		case errors.As(err, &bad):
			fmt.Println("BAD", bad.Key)
		case err != nil:
			log.Fatal(err)
		case ev.Type == listwatch.Bookmark:
			fmt.Println(ev.Type, "at", ev.ResourceVersion)
		default:
			fmt.Println(ev.Type, listwatch.KeyOf(ev.Object), "at", ev.ResourceVersion)
		}
	}
	// Output:
	// LISTED shop/cart
	// LISTED shop/till
	// BAD shop/odd
	// MODIFIED shop/cart at 11
	// BAD shop/stray
	// BOOKMARK at 15
	// DELETED shop/till at 16
	// the server ended the watch
}
