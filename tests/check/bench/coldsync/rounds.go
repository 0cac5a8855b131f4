package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
)

// measureFlag makes this program a measuring process.
const measureFlag = "-measure"

// result is what one measuring process said.
type result struct {
	syncFigures
	storms []stormFigures
}

// world is what the rounds are played in.
type world struct {
	kubeconfig string
	profiles   string
	client     kubernetes.Interface
	pods       []*corev1.Pod
	storms     []weather
	// calm is the server's pause before the storms. A list leaves the server work, and the storm of the faster informer
	// would fall into that work.
	calm time.Duration
}

// play measures each variant once a round, each time in a process of its own. The rounds begin with another variant each, so that
// none always has the same one before it.
func (w *world) play(ctx context.Context, names []string, rounds int) (map[string][]result, error) {
	// This is the server's work for its first streaming list, and after the fill.
	if _, err := w.one(ctx, floor); err != nil {
		return nil, fmt.Errorf("warming up: %w", err)
	}
	p := startProgress("measurements", rounds*len(names))
	defer p.end()
	results := map[string][]result{}
	for round := range rounds {
		first := round % len(names)
		for _, name := range slices.Concat(names[first:], names[:first]) {
			if err := w.tidy(ctx); err != nil {
				return nil, fmt.Errorf("tidying before %s: %w", name, err)
			}
			r, err := w.one(ctx, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			results[name] = append(results[name], r)
			p.step()
		}
	}
	return results, nil
}

// tidy makes the server collect its garbage. A list and its storms leave so much garbage that the server would collect
// it during every second list, or during a storm. Such a list takes half as long again. A server without profiles is
// used as it is.
func (w *world) tidy(ctx context.Context) error {
	_, err := w.client.CoreV1().RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// one measures a variant.
func (w *world) one(ctx context.Context, name string) (r result, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, measureFlag)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		return r, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := cmd.Start(); err != nil {
		return r, err
	}
	r, err = w.talk(ctx, name, in, out)
	if err != nil {
		cancel()
	}
	if ended := errors.Join(in.Close(), cmd.Wait()); err != nil || ended != nil {
		return r, fmt.Errorf("%w\n%s", errors.Join(err, ended), complaints.Bytes())
	}
	return r, nil
}

// talk is the other side of measure.
func (w *world) talk(ctx context.Context, name string, in io.Writer, out io.Reader) (r result, err error) {
	write, read := json.NewEncoder(in), json.NewDecoder(out)
	if err := write.Encode(task{Variant: name, Kubeconfig: w.kubeconfig, Profiles: w.profiles}); err != nil {
		return r, err
	}
	if err := read.Decode(&r.syncFigures); err != nil {
		return r, fmt.Errorf("figures of the sync: %w", err)
	}
	if r.Objects != len(w.pods) {
		return r, fmt.Errorf("%d pods seen, but there are %d", r.Objects, len(w.pods))
	}
	if len(w.storms) > 0 {
		select {
		case <-time.After(w.calm):
		case <-ctx.Done():
			return r, ctx.Err()
		}
		if err := w.tidy(ctx); err != nil {
			return r, fmt.Errorf("tidying before the storms: %w", err)
		}
	}
	for _, weather := range w.storms {
		updates, err := blow(ctx, w.client, w.pods, weather)
		if err != nil {
			return r, err
		}
		if err := write.Encode(storm{updates}); err != nil {
			return r, err
		}
		var f stormFigures
		if err := read.Decode(&f); err != nil {
			return r, fmt.Errorf("figures of the storm of %d updates: %w", updates, err)
		}
		r.storms = append(r.storms, f)
	}
	return r, nil
}
