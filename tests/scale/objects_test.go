package scale

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch/shard"
)

// objects are ConfigMaps that change all the time, and what is known of them. Only they write them, each name once.
type objects struct {
	client *kubernetes.Clientset
	field  shard.Field
	stop   context.CancelFunc
	ended  chan struct{}

	mu       sync.Mutex // guards the rest
	paused   bool
	live     map[string]*corev1.ConfigMap // that the server has for certain, by name
	gone     map[string]bool              // that it had
	versions []string                     // of the writes
	problems []string
}

func newObjects(w *world) *objects {
	link := newLink(w.handler, 0, &tally{})
	client, err := kubernetes.NewForConfigAndClient(
		&rest.Config{Host: "http://server", QPS: -1}, &http.Client{Transport: link})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	o := &objects{
		client: client, field: []shard.Field{shard.UID, shard.Namespace}[w.rnd.IntN(2)],
		stop: stop, ended: make(chan struct{}), live: map[string]*corev1.ConfigMap{}, gone: map[string]bool{},
	}
	for _, namespace := range namespaces {
		_, err := client.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if err != nil {
			panic(err)
		}
	}
	for n := range objectCount {
		o.write(ctx, n)
	}
	go func() {
		defer close(o.ended)
		for n := objectCount; pause(ctx, beat/4); n++ {
			o.mu.Lock()
			paused := o.paused
			o.mu.Unlock()
			if !paused {
				o.write(ctx, n)
			}
		}
	}()
	return o
}

const objectCount = 40

var namespaces = []string{"a-shop", "b-shop", "c-shop", "d-shop", "e-shop", "f-shop"}

// write makes, changes or deletes an object. While it does, nothing is certain of that one.
func (o *objects) write(ctx context.Context, n int) {
	name := fmt.Sprintf("c%d", n)
	if n%4 != 0 && n >= objectCount {
		name = slices.Sorted(maps.Keys(o.live))[n%len(o.live)] // only this goroutine changes it
	}
	o.mu.Lock()
	was := o.live[name]
	delete(o.live, name)
	o.mu.Unlock()
	var is *corev1.ConfigMap
	var err error
	switch {
	case was == nil:
		namespace := namespaces[n%len(namespaces)]
		is, err = o.client.CoreV1().ConfigMaps(namespace).Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	case n%4 == 1:
		err = o.client.CoreV1().ConfigMaps(was.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
	default:
		was.Data = map[string]string{"n": strconv.Itoa(n)}
		is, err = o.client.CoreV1().ConfigMaps(was.Namespace).Update(ctx, was, metav1.UpdateOptions{})
	}
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil:
		o.complain("%v", err)
	case is == nil:
		o.gone[name] = true
	default:
		o.live[name] = is
		o.versions = append(o.versions, is.ResourceVersion)
	}
}

func (o *objects) complain(format string, args ...any) {
	if len(o.problems) < 5 {
		o.problems = append(o.problems, fmt.Sprintf(format, args...))
	}
}

// Pause says whether the objects stay as they are.
func (o *objects) Pause(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused = on
}

// lagging returns what a server's cache that is behind may answer with.
func (o *objects) lagging() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.versions[max(0, len(o.versions)-20)]
}

// Close ends the changes.
func (o *objects) Close() {
	o.stop()
	<-o.ended
}

// unsettled says what keeps the stores of these processes from having all objects in their latest versions, each in one
// store, and in that of the process that holds its shard.
func (o *objects) unsettled(processes []*process) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := maps.Clone(o.live)
	for _, p := range processes {
		f := p.member.(*follower)
		for key, obj := range f.configs.Store().All() {
			want := left[key.Name]
			switch delete(left, key.Name); {
			case key.Namespace == "default" || key.Name == "kube-root-ca.crt":
			case want == nil || want.ResourceVersion != obj.ResourceVersion:
				return fmt.Sprintf("%s has %s in version %s", p.name, key.Name, obj.ResourceVersion)
			case !f.Listed(f.Of(obj)):
				return fmt.Sprintf("%s has %s, and not its shard", p.name, key.Name)
			}
		}
	}
	if len(left) > 0 {
		return fmt.Sprintf("%d objects are in no store", len(left))
	}
	return ""
}

// Problems returns what is wrong.
func (o *objects) Problems() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.problems
}
