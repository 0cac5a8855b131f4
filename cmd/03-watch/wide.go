package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/demo"
	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
)

// lost has a position on disk and what it knew then, and finds that the server has forgotten what happened since.
func lost(ctx context.Context, d *demo.Demo) {
	faults := d.FaultStep("A position on disk that is too old: 410, and what the program must do")
	if faults == nil {
		return
	}
	client, known := d.ConfigMaps("lost"), []string{"q", "r"}
	d.Put(ctx, "lost", known...)
	list := demo.Must(listwatch.ListAll(ctx, client, metav1.ListOptions{}, 500))
	options := resume.Options{Path: filepath.Join(d.TempDir(), "position"), Cluster: demo.Must(resume.ClusterID(ctx, d.Config))}
	open := func(version string) *resume.Watch[*corev1.ConfigMap] {
		return demo.Must(resume.NewWatch(ctx, client, metav1.ListOptions{ResourceVersion: version}, options))
	}
	demo.Check(open(list.ResourceVersion).Close())
	d.Did("wrote down resourceVersion %s, knew %v, and ended", list.ResourceVersion, known)
	d.Did("meanwhile q was deleted, s came, and the server forgot how")
	d.Remove(ctx, "q")
	d.Put(ctx, "lost", "s")
	faults.Compact()
	w := open("")
	_, err := w.Next()
	d.Saw("resumed: the position is lost %t, 410 Expired %t", errors.Is(err, resume.ErrPositionLost), apierrors.IsResourceExpired(err))
	demo.Check(w.Close())
	list = demo.Must(listwatch.ListAll(ctx, client, metav1.ListOptions{}, 500))
	var names []string
	for _, object := range list.Items {
		names = append(names, object.Name)
	}
	slices.Sort(names)
	missing := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return slices.Contains(names, name) })
	d.Saw("listed %v: to be treated as new or changed %v, as deleted %v", names, names, missing)
	w = open(list.ResourceVersion)
	defer w.Close()
	d.Put(ctx, "lost", "s")
	demo.Expect(d, w, 1)
	d.Why("a position alone is not enough: whoever does not keep the names, too, never learns that q is gone. To watch again from the " +
		"old version fails for ever; to watch from now on loses what happened. sharedinformer/checkpoint keeps the objects")
}

// put creates a ConfigMap with these labels.
func put(ctx context.Context, d *demo.Demo, namespace, name string, labels map[string]string) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	demo.Must(d.Client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{}))
}

func allNamespaces(ctx context.Context, d *demo.Demo) {
	d.Step("One watch for all namespaces, and selectors with several requirements")
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Namespace + "-two",
		Labels: map[string]string{demo.LabelDemo: "03-watch"}}}
	d.Cleanup(func(ctx context.Context) error {
		return demo.Gone(d.Client.CoreV1().Namespaces().Delete(ctx, other.Name, metav1.DeleteOptions{}))
	})
	demo.Must(d.Client.CoreV1().Namespaces().Create(ctx, other, metav1.CreateOptions{}))
	// each has the demo's namespace as a label, so that the watch sees nobody else's
	for name, labels := range map[string]map[string]string{
		"t": {"of": d.Namespace, "tier": "shop"}, "u": {"of": d.Namespace, "tier": "till", "owner": "ann"},
		"v": {"of": d.Namespace, "tier": "bank", "owner": "ann"}, "w": {"of": d.Namespace, "tier": "till", "owner": "ann", "old": ""},
	} {
		put(ctx, d, map[bool]string{true: d.Namespace, false: other.Name}[name < "u"], name, labels)
	}
	for _, selector := range []string{"", ",tier in (shop,till)", ",tier in (shop,till),owner", ",owner,!old",
		",tier notin (bank),!owner"} {
		opts := metav1.ListOptions{LabelSelector: "of=" + d.Namespace + selector, ResourceVersion: "0"}
		matches := demo.Must(d.Client.CoreV1().ConfigMaps(metav1.NamespaceAll).List(ctx, opts))
		w := demo.Must(d.Client.CoreV1().ConfigMaps(metav1.NamespaceAll).Watch(ctx, opts))
		var seen []string
		for range matches.Items {
			object, ok := (<-w.ResultChan()).Object.(*corev1.ConfigMap)
			if !ok {
				demo.Check(errors.New("want a ConfigMap, and the watch ended"))
			}
			place := strings.Replace(object.Namespace, d.Namespace, "demo", 1)
			seen = append(seen, place+"/"+object.Name)
		}
		w.Stop()
		slices.Sort(seen)
		d.Saw("%-32s %s", "of"+selector+":", strings.Join(seen, " "))
	}
	d.Sent("%s", strings.ReplaceAll(d.Tape.Last().Path, d.Namespace, "demo"))
	d.Why("no namespace in the path: all of them, in one stream. Requirements are joined by and; a name alone asks whether the label " +
		"exists, !name whether it does not. There is no or, but in (…) within one label")
}

// proxied is what kubectl proxy does: it adds the credentials of a kubeconfig to whatever comes in.
func proxied(ctx context.Context, d *demo.Demo) {
	d.Step("The same over a proxy, with plain HTTP: no library, no credentials")
	server := demo.Must(url.Parse(d.Config.Host))
	proxy := httputil.NewSingleHostReverseProxy(server)
	proxy.Transport, proxy.FlushInterval = demo.Must(rest.TransportFor(d.Config)), -1 // each event at once
	path := "/api/v1/configmaps?watch=1&resourceVersion=0&labelSelector=" + url.QueryEscape("of="+d.Namespace+",owner,!old")
	req := demo.Must(http.NewRequestWithContext(ctx, http.MethodGet, d.Serve(proxy)+path, http.NoBody))
	d.Sent("curl -sN '%s'", strings.ReplaceAll(req.URL.String(), d.Namespace, "demo"))
	resp := demo.Must(http.DefaultClient.Do(req))
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	d.Saw("%d, %s, length %d: it goes on", resp.StatusCode, resp.Header.Get("Content-Type"), resp.ContentLength)
	var seen []string
	for decoder := json.NewDecoder(resp.Body); len(seen) < 2; {
		var line json.RawMessage
		var event metav1.WatchEvent
		var object corev1.ConfigMap
		demo.Check(decoder.Decode(&line))
		demo.Check(utiljson.Unmarshal(line, &event))
		demo.Check(utiljson.Unmarshal(event.Object.Raw, &object))
		if event.Type == string(watch.Added) {
			seen = append(seen, object.Name)
		}
	}
	slices.Sort(seen)
	d.Saw("a line of JSON each: {\"type\":\"ADDED\",\"object\":{…}} for %s", strings.Join(seen, " and "))
	d.Why("the proxy lends its credentials to whoever reaches its port: only on loopback, and not for long")
}
