// Command 01-clients sends requests to an API server by each of client-go's clients, and to servers that do not answer.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"glasswatch/cmd/internal/demo"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "01-clients", Title: "One server, four clients, and how they fail",
	Next: "docs/learn/tour.md, chapter 2", Tell: tell}

func tell(ctx context.Context, d *demo.Demo) error {
	sameList(ctx, d, restClient(ctx, d))
	mapper(ctx, d)
	limits(ctx, d)
	slow := d.Serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	timeouts(ctx, d, slow)
	failures(ctx, d, slow)
	discoveries(ctx, d)
	return nil
}

func restClient(ctx context.Context, d *demo.Demo) *rest.RESTClient {
	d.Step("/version, through the REST client and through the clientset")
	cfg := rest.CopyConfig(d.Config) // a REST client is for one group and version
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	client := demo.Must(rest.RESTClientFor(cfg))
	raw := demo.Must(client.Get().AbsPath("/version").Do(ctx).Raw())
	version := demo.Must(d.Client.Discovery().ServerVersionWithContext(ctx))
	d.Saw("REST: %T, %.1q and so on: JSON for you to decode", raw, raw)
	d.Saw("clientset: %T, for version %s.%s", version, version.Major, version.Minor)
	return client
}

func sameList(ctx context.Context, d *demo.Demo, client *rest.RESTClient) {
	d.Step("The same list through four clients")
	for _, name := range []string{"apple", "pear", "plum"} {
		fruit := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kind": "fruit"}}}
		demo.Must(d.Client.CoreV1().ConfigMaps(d.Namespace).Create(ctx, fruit, metav1.CreateOptions{}))
	}
	opts := metav1.ListOptions{LabelSelector: "kind=fruit"}
	typed := demo.Must(d.Client.CoreV1().ConfigMaps(d.Namespace).List(ctx, opts))
	var list corev1.ConfigMapList
	demo.Check(client.Get().Namespace(d.Namespace).Resource("configmaps").VersionedParams(&opts, scheme.ParameterCodec).Do(ctx).Into(&list))
	gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
	maps := demo.Must(demo.Must(dynamic.NewForConfig(d.Config)).Resource(gvr).Namespace(d.Namespace).List(ctx, opts))
	path := "/api/v1/namespaces/" + d.Namespace + "/configmaps"
	raw := demo.Must(d.Client.Discovery().RESTClient().Get().AbsPath(path).Param("labelSelector", opts.LabelSelector).Do(ctx).Raw())
	d.Table([]string{"client", "you name", "you get"},
		[]string{"clientset", "CoreV1().ConfigMaps(ns)", fmt.Sprintf("%d × %T", len(typed.Items), &typed.Items[0])},
		[]string{"REST", `Resource("configmaps")`, fmt.Sprintf("%d × %T, into a list you bring", len(list.Items), &list.Items[0])},
		[]string{"dynamic", "a GVR", fmt.Sprintf("%d × %T", len(maps.Items), &maps.Items[0])},
		[]string{"discovery", "a path", fmt.Sprintf("%T: it is made to tell which resources there are", raw)})
}

func mapper(ctx context.Context, d *demo.Demo) {
	d.Step("Kinds are written in YAML, resources in URLs; the RESTMapper knows both, from discovery")
	cfg, tape := demo.Taped(d.Config)
	cached := memory.NewMemCacheClientWithContext(demo.Must(discovery.NewDiscoveryClientForConfig(cfg)))
	mapper := restmapper.NewShortcutExpanderWithContext(restmapper.NewDeferredDiscoveryRESTMapperWithContext(cached), cached, nil)
	for _, of := range [][]string{{"v1", "ConfigMap"}, {"networking.k8s.io/v1", "Ingress"}, {"v1", "Namespace"}} {
		kind := schema.FromAPIVersionAndKind(of[0], of[1])
		m := demo.Must(mapper.RESTMappingWithContext(ctx, kind.GroupKind(), kind.Version))
		d.Saw("GVK %-36s → GVR %-44s scope %s", kind, m.Resource, m.Scope.Name())
	}
	d.Saw(`"cm", as one types it → %s`, demo.Must(mapper.ResourceForWithContext(ctx, schema.GroupVersionResource{Resource: "cm"})))
	asked, _ := tape.Rewind()
	_, _, err := cached.ServerGroupsAndResourcesWithContext(ctx)
	demo.Check(err)
	again, _ := tape.Rewind()
	d.Saw("memory cache: all of discovery in %d requests, all of it again in %d", asked, again)

	dir := d.TempDir()
	for _, who := range []string{"this process", "the next one"} {
		onDisk := demo.Must(disk.NewCachedDiscoveryClientForConfig(cfg, dir, "", time.Minute))
		resources := demo.Must(onDisk.ServerResourcesForGroupVersionWithContext(ctx, "v1"))
		asked, _ = tape.Rewind()
		d.Saw("disk cache: %s learns of %s in %d requests", who, resources.GroupVersion, asked)
	}
	d.Why("a resource added a moment ago is not in a cache: Invalidate it, or wait (disk: the time you give)")
}

func limits(ctx context.Context, d *demo.Demo) {
	d.Step("QPS and burst: the client waits, not the server")
	cfg := rest.CopyConfig(d.Config)
	cfg.QPS, cfg.Burst = 20, 3
	client, start := demo.Must(kubernetes.NewForConfig(cfg)).CoreV1().ConfigMaps(d.Namespace), time.Now()
	rows := [][]string{{"QPS 20, burst 3", "answered after"}}
	for n := range 6 {
		demo.Must(client.Get(ctx, "apple", metav1.GetOptions{}))
		rows = append(rows, []string{fmt.Sprintf("request %d", n+1), demo.Millis(time.Since(start))})
	}
	d.Table(rows...)
	d.Saw("the last three waited for their turn: %t", time.Since(start) > 140*time.Millisecond)
	d.Why("three at once, then one each 50 ms. The defaults are 5 and 10; -1 is no limit. A watch counts once")
}

func timeouts(ctx context.Context, d *demo.Demo, slow string) {
	d.Step("A timeout for all requests of a client, and one for one request")
	cfg, tape := demo.Taped(&rest.Config{Host: slow, Timeout: 200 * time.Millisecond})
	list := func(ctx context.Context, what string, opts metav1.ListOptions) {
		start := time.Now()
		_, err := demo.Must(kubernetes.NewForConfig(cfg)).CoreV1().Nodes().List(ctx, opts)
		d.Sent("%s", tape.Last().Path)
		d.Saw("%s, after %s: %v", what, time.Since(start).Round(time.Millisecond), err)
	}
	list(ctx, "Config.Timeout", metav1.ListOptions{})
	cfg.Timeout = 0
	brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	list(brief, "a context of its own", metav1.ListOptions{})
	list(ctx, "TimeoutSeconds, which tells the server, too", metav1.ListOptions{TimeoutSeconds: new(int64(1))})
	d.Why("Config.Timeout ends watches in the middle: give requests a context instead")
}

func failures(ctx context.Context, d *demo.Demo, slow string) {
	d.Step("A refused connection, a TLS handshake that hangs, a slow handler")
	closed, silent := demo.Must(net.Listen("tcp", "127.0.0.1:0")), demo.Must(net.Listen("tcp", "127.0.0.1:0"))
	demo.Check(closed.Close())
	defer silent.Close() // no Accept is called: only the kernel completes the connection
	for _, cfg := range []*rest.Config{
		{Host: "http://" + closed.Addr().String()},
		// client-go waits ten seconds for a handshake; a transport of the program's own can change that.
		{Host: "https://" + silent.Addr().String(), Transport: &http.Transport{TLSHandshakeTimeout: 200 * time.Millisecond}},
		{Host: slow, Timeout: 200 * time.Millisecond},
	} {
		_, err := demo.Must(kubernetes.NewForConfig(cfg)).Discovery().ServerVersionWithContext(ctx)
		d.Saw("%v\nIsConnectionRefused %t, IsTimeout %t", err, utilnet.IsConnectionRefused(err), utilnet.IsTimeout(err))
	}
	d.Why("nobody is there; somebody is there who does not speak TLS; somebody is there who is busy")
}
