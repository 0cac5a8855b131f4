package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/tests/chaos/proxy"
)

// do does one step.
func (w *world) do(st step) error {
	w.disk.count(w.run.Checkpoint(), w.all)
	switch st.what {
	case create, update, remove:
		return w.write(st.what, st.key)
	case burst:
		for i := range st.n {
			key := st.key
			key.Name = string(rune('a' + i%5))
			if err := errors.Join(w.write(create, key), w.write(update, key)); err != nil {
				return err
			}
		}
	case faults:
		for _, f := range st.faults {
			f.Pause /= w.pace
			w.proxy.Plan(f)
		}
		if st.n%3 == 0 {
			w.cut(st.n)
		}
	case cut:
		w.cut(st.n)
	case listAgain:
		w.proxy.Plan(proxy.Fault{Kind: proxy.Expired, Variant: st.n})
		w.cut(st.n)
	case compact, backup, restore:
		if w.server != nil {
			w.doToServer(st.what)
		}
	case wait:
		<-time.After(st.pause / w.pace)
	case look:
		return w.look()
	case fillDisk:
		return w.disk.fill(st.n)
	case freeDisk:
		return w.disk.free()
	default:
		return w.doToHandlers(st)
	}
	return nil
}

// doToServer does what can be done to our own only.
func (w *world) doToServer(what what) {
	switch what {
	case compact:
		w.server.Faults().Compact()
		w.server.Faults().BreakWatches()
	case backup:
		w.backup = w.server.Faults().Backup()
	case restore:
		w.restores.Add(1)
		w.all.fire(restored)
		w.server.Faults().Restore(w.backup)
		w.proxy.Restored()
	}
}

func (w *world) cut(n int) {
	for range w.proxy.Cut(n%2 == 0) {
		w.all.fire(kind(proxy.Drop))
	}
}

func (w *world) doToHandlers(st step) error {
	h := w.run.handlers[st.n%len(w.run.handlers)]
	switch st.what {
	case panicNext:
		h.misbehaveNext(1+st.n%3, 0)
	case stall:
		h.misbehaveNext(0, st.pause/w.pace)
	case join:
		return w.join(st.n%2 == 0)
	case leave:
		if len(w.run.handlers) < 2 {
			return nil
		}
		at := st.n % len(w.run.handlers)
		w.run.handlers = append(w.run.handlers[:at:at], w.run.handlers[at+1:]...)
		w.complain(h)
		return w.run.Remove(h.registration)
	case restart:
		since := w.run.since
		w.halt()
		if w.restores.Load() > since { // what the documentation of checkpoints says to do after a restore
			if err := w.disk.forget(); err != nil {
				return err
			}
		}
		return w.start()
	}
	return nil
}

// write changes one object, or is content that it cannot be.
func (w *world) write(what what, key listwatch.Key) error {
	if w.scope != "" {
		key.Namespace = w.scope
	}
	ctx := context.Background()
	maps := w.direct.CoreV1().ConfigMaps(key.Namespace)
	w.writes++
	value := map[string]string{"v": fmt.Sprint(w.writes)}
	var err error
	switch what {
	case create:
		_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Data: value}, metav1.CreateOptions{})
	case update:
		_, err = maps.Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Data: value}, metav1.UpdateOptions{})
	default:
		err = maps.Delete(ctx, key.Name, metav1.DeleteOptions{})
	}
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
