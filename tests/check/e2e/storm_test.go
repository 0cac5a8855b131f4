package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver/apiservertest"
)

// storm changes the Services and Ingresses of one namespace at random. The seed determines the changes and their order.
// The API server's answers do not matter.
type storm struct {
	*stage
	rnd  *rand.Rand
	stop context.CancelFunc
	done chan struct{} // closed when the last change is made

	mu       sync.Mutex
	changes  int           // that the API server took; guarded by mu
	others   int           // that it did not take; guarded by mu
	silences int           // tries in a row without any answer; guarded by mu
	moved    chan struct{} // closed and replaced at each change that was tried; guarded by mu
}

// pause between two changes.
const pause = 10 * time.Millisecond

func (s *stage) storm() *storm {
	s.t.Helper()
	used := *seed
	if used == 0 {
		used = time.Now().UnixNano()
	}
	s.t.Logf("storm: -run '^%s$' -seed %d", s.t.Name(), used)
	ctx, cancel := context.WithCancel(context.Background())
	w := &storm{stage: s, rnd: rand.New(rand.NewPCG(uint64(used), 0)), stop: cancel,
		done: make(chan struct{}), moved: make(chan struct{})}
	go w.rage(ctx)
	s.t.Cleanup(func() { cancel(); <-w.done })
	return w
}

func (w *storm) rage(ctx context.Context) {
	defer close(w.done)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		err := w.change(attempt)
		cancel()
		w.note(err)
	}
}

func (w *storm) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, answered := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err == nil:
		w.changes++
		w.silences = 0
	case answered:
		w.others++
		w.silences = 0
	default:
		w.others++
		w.silences++
	}
	close(w.moved)
	w.moved = make(chan struct{})
}

// change makes one change, if there is anything to be changed.
func (w *storm) change(ctx context.Context) error {
	name := fmt.Sprintf("s%02d", w.rnd.IntN(40))
	kind, number := w.rnd.IntN(20), w.rnd.Int32N(9)+80
	asks := []string{"true", "true", "false"}[w.rnd.IntN(3)]
	services, ingresses := w.client.CoreV1().Services(w.ns), w.client.NetworkingV1().Ingresses(w.ns)
	switch {
	case kind < 7:
		_, err := services.Create(ctx, newService(name, annotate(httpAnnotation, asks), port(number)), metav1.CreateOptions{})
		return err
	case kind < 10:
		return services.Delete(ctx, name, metav1.DeleteOptions{})
	case kind == 10:
		return ingresses.Delete(ctx, name, metav1.DeleteOptions{})
	case kind == 11:
		ing, err := ingresses.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			ing.Spec.Rules[0].Host = "theirs.example.com"
			_, err = ingresses.Update(ctx, ing, metav1.UpdateOptions{})
		}
		return err
	}
	svc, err := services.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch {
	case kind < 14:
		port(number)(svc)
	case kind < 17:
		annotate(httpAnnotation, asks)(svc)
	default:
		annotate(hostAnnotation, fmt.Sprintf("h%d.example.com", number))(svc)
	}
	_, err = services.Update(ctx, svc, metav1.UpdateOptions{})
	return err
}

// await waits until so many more changes were made.
func (w *storm) await(n int) {
	w.t.Helper()
	w.mu.Lock()
	target := w.changes + n
	w.mu.Unlock()
	w.until(func() bool { return w.changes >= target }, "the storm does not get on")
}

// stalls waits until the API server does not answer any more.
func (w *storm) stalls() {
	w.t.Helper()
	w.until(func() bool { return w.silences >= 3 }, "the storm goes on")
}

// until waits for a condition, which is looked at with the mutex held.
func (w *storm) until(condition func() bool, otherwise string) {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		w.mu.Lock()
		held, moved := condition(), w.moved
		w.mu.Unlock()
		if held {
			return
		}
		select {
		case <-moved:
		case <-deadline:
			require.FailNow(w.t, otherwise, "after %s", patience)
		}
	}
}

// calm ends the storm, and waits until every Service has exactly what it asks for.
func (w *storm) calm() {
	w.t.Helper()
	w.stop()
	<-w.done
	// With shards by label, an Ingress that nobody sees may be in the way of its Service: one look at it in 30 s.
	require.NoError(w.t, apiservertest.Within(w.t.Context(), 2*patience, w.exact))
	w.t.Logf("storm: %d changes, %d others were refused or came to nothing", w.changes, w.others)
}

// exact wants an Ingress for each Service that asks for one, and no other Ingress.
func (s *stage) exact() error {
	services, err := s.client.CoreV1().Services(s.ns).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	list, err := s.client.NetworkingV1().Ingresses(s.ns).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	ingresses := map[string]*networkingv1.Ingress{}
	for i := range list.Items {
		ingresses[list.Items[i].Name] = &list.Items[i]
	}
	asked := 0
	for _, svc := range services.Items {
		if svc.Annotations[httpAnnotation] != "true" {
			continue
		}
		asked++
		ing := ingresses[svc.Name]
		if ing == nil {
			return fmt.Errorf("Service %s has no Ingress", svc.Name)
		}
		delete(ingresses, svc.Name)
		if err := serves(ing, &svc, hostOf(&svc), svc.Spec.Ports[0].Port); err != nil {
			return fmt.Errorf("Service %s: %w", svc.Name, err)
		}
	}
	if len(ingresses) > 0 {
		return fmt.Errorf("Ingresses that nobody asks for: %v", slices.Sorted(maps.Keys(ingresses)))
	}
	if asked == 0 {
		return fmt.Errorf("no Service asks for anything: the storm was none")
	}
	return nil
}

func hostOf(svc *corev1.Service) string {
	if host, found := svc.Annotations[hostAnnotation]; found {
		return host
	}
	return defaultHost
}
