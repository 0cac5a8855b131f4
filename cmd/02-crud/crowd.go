package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/demo"
)

// tally counts what many workers do.
type tally struct {
	mu      sync.Mutex // protects what follows
	success int
	failed  map[metav1.StatusReason]int
}

func (t *tally) count(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.success++ // without the lock two workers may read the same number, and one of them is not counted
		return
	}
	t.failed[apierrors.ReasonForError(err)]++
}

const workers = 16

// create lets the workers create objects of these names, and returns how long it took.
func create(ctx context.Context, names []string, t *tally, one func(ctx context.Context, name string) error) time.Duration {
	start, next := time.Now(), make(chan string)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for name := range next {
				t.count(one(ctx, name))
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	all.Wait()
	return time.Since(start)
}

func crowd(ctx context.Context, d *demo.Demo) {
	total, what := 30_000, "namespaces"
	if demo.Brief {
		total = 1_500
	}
	if !d.InProcess { // all of a demo is in one namespace of a cluster
		total, what = 300, "ConfigMaps"
	}
	d.Step(fmt.Sprintf("Many %s by %d workers, at three speeds", what, workers))
	names := make([]string, total)
	for i := range names {
		names[i] = fmt.Sprintf("worker-%05d", i)
	}
	t := &tally{failed: map[metav1.StatusReason]int{}}
	rows := [][]string{{"QPS, burst", "     in", "at this speed all would take"}}
	for _, trial := range []struct {
		qps   float32
		burst int
		share []string
	}{{5, 10, names[:15]}, {1000, 100, names[15 : 15+total/60]}, {-1, 0, names[15+total/60:]}} {
		cfg := rest.CopyConfig(d.Config)
		cfg.QPS, cfg.Burst = trial.qps, trial.burst
		client := demo.Must(kubernetes.NewForConfig(cfg))
		took := create(ctx, trial.share, t, func(ctx context.Context, name string) (err error) {
			object := metav1.ObjectMeta{Name: name}
			if d.InProcess {
				_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: object}, metav1.CreateOptions{})
			} else {
				_, err = client.CoreV1().ConfigMaps(d.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: object}, metav1.CreateOptions{})
			}
			return err
		})
		all := took * time.Duration(total) / time.Duration(len(trial.share))
		rows = append(rows, []string{fmt.Sprintf("%g, %d", trial.qps, trial.burst), demo.Millis(took), demo.Millis(all)})
	}
	d.Table(rows...)
	again := &tally{failed: map[metav1.StatusReason]int{}}
	create(ctx, names[:20], again, func(ctx context.Context, _ string) error {
		existing := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		_, err := d.Client.CoreV1().Namespaces().Create(ctx, existing, metav1.CreateOptions{})
		return err
	})
	d.Saw("%d %s made; counted under a lock: each of them %t, failed %v", total, what, t.success == total, t.failed)
	d.Saw("20 times the same that exists: success %d, failed %v", again.success, again.failed)
	d.Why("the default of five a second is for a program that reads a cache; one that writes much must ask for more. More workers do not " +
		"help against a limit. Without a limit the server's flow control decides, by 429")
}
