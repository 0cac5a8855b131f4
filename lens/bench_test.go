package lens

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// What a lens costs a program that talks to a server: without one, with one that is off, and with one that is on. One op is
// a change of each of 20 ConfigMaps from outside. Each wakes a reconcile, whose patch wakes another one, which has nothing
// to write. The server is the one in memory, in the same process.
func BenchmarkProgram(b *testing.B) {
	for name, run := range programs {
		for _, looks := range []string{"none", "off", "on"} {
			b.Run(fmt.Sprintf("program=%s/lens=%s", name, looks), func(b *testing.B) {
				s := apiservertest.Start(b, apiserver.Options{})
				cfg := rest.CopyConfig(s.Config)
				cfg.QPS = -1
				var l *Lens
				if looks != "none" {
					l = New(Options{On: looks == "on"})
					cfg.Wrap(l.Transport)
				}
				p := patches{changed: map[string]bool{}}
				apiservertest.Go(b, func(ctx context.Context) error { return run(ctx, l, cfg, p.reconcile) })
				p.round(s, 0)
				b.ReportAllocs()
				round := 0
				for b.Loop() {
					round++
					p.round(s, round)
				}
			})
		}
	}
}

// patches is a controller that patches each ConfigMap once after it was changed from outside.
type patches struct {
	mu      sync.Mutex
	changed map[string]bool // by name; false once it is patched, and absent once that has been seen, too
	open    sync.WaitGroup
}

// round changes 20 ConfigMaps, and waits until all are at rest.
func (p *patches) round(s *apiservertest.Server, n int) {
	for i := range 20 {
		name := fmt.Sprint("c", i)
		p.open.Add(1)
		p.mu.Lock()
		p.changed[name] = true
		p.mu.Unlock()
		s.Put(name, fmt.Sprint(n))
	}
	p.open.Wait()
}

func (p *patches) reconcile(ctx context.Context, client kubernetes.Interface, key listwatch.Key) error {
	p.mu.Lock()
	changed, isOpen := p.changed[key.Name]
	if changed {
		p.changed[key.Name] = false
	} else if isOpen {
		delete(p.changed, key.Name)
		p.open.Done()
	}
	p.mu.Unlock()
	if !changed {
		return nil
	}
	_, err := client.CoreV1().ConfigMaps(key.Namespace).Patch(ctx, key.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"seen":%q}}}`, metav1.Now().Format("05.000000000")), metav1.PatchOptions{})
	return err
}

// What a lens itself costs: an event that enqueues a key, which is taken and done.
func BenchmarkEvent(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("on=%v", on), func(b *testing.B) {
			l := New(Options{On: on})
			queue := WatchQueue(l, "c", workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()))
			defer queue.ShutDown()
			h := &watchedHandler{handler: cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { queue.Add("ns/p") }}, lens: l, informer: "pods", name: "h"}
			old, obj := apiservertest.ConfigMap("p", "a"), apiservertest.ConfigMap("p", "b")
			obj.ResourceVersion = "2"
			b.ReportAllocs()
			for b.Loop() {
				h.OnUpdate(old, obj)
				key, _ := queue.Get()
				queue.Done(key)
			}
		})
	}
}

// Everything that a lens keeps is bounded in number, whatever a program does.
func TestMemory_IsBoundedInEntries(t *testing.T) {
	const keys, perKey = 8, 4
	l := tell(t)
	l.opts = Options{On: true, Keys: keys, PerKey: perKey}
	for i := range 3 * keys {
		key := fmt.Sprint("ns/", i)
		for j := range 3 * perKey {
			version := fmt.Sprint(i*1000 + j)
			for range 3 * perKey {
				l.event("c", key, Cause{Action: "update", ResourceVersion: version})
			}
			l.taken("c", key)
			for k := range 3 * perKey {
				target := fmt.Sprint("ns/o", k)
				by, _ := l.beginWrite(target)
				l.endWrite(by, target, Write{Verb: "PUT", Code: 200, Object: target, ResourceVersion: fmt.Sprint(version, ".", k)})
			}
			l.enqueued("c", key, "later", 1<<40)
			l.done("c", key)
		}
	}
	state := l.informers["things"]
	for i := range 2 * maxHandlers {
		state.note(fmt.Sprint("handler", i), 0)
	}
	for i := range 2 * maxGoroutines { // whose handlers panic, so that nothing is told of their end
		l.beginLocked(int64(i), doing{call: &Cause{}})
	}
	require.Len(t, l.stories, keys)
	require.Equal(t, keys, l.recent.Len())
	for _, at := range l.stories {
		s := at.Value.(*story)
		require.LessOrEqual(t, len(s.pending), perKey)
		require.Len(t, s.reconciles, perKey)
		for _, r := range s.reconciles {
			require.LessOrEqual(t, len(r.enqueueings), perKey)
			require.Len(t, r.Writes, perKey)
		}
	}
	require.Len(t, l.writes, keys)
	require.Len(t, l.versions, keys)
	require.Empty(t, l.writing)
	require.LessOrEqual(t, len(l.doing), maxGoroutines)
	require.LessOrEqual(t, len(state.handlers), maxHandlers)
}
