package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/tests/check/controlplane"
)

// standing measures programs on a server that has a load already.
type standing struct {
	binary   string
	load     load
	lasts    time.Duration // from a program's start until it is measured
	profiles string        // the directory for heap profiles, or ""

	plane    *controlplane.Plane
	podBytes int // of one pod's JSON
	client   *kubernetes.Clientset
	kubelets *kubelets
	stop     func()
}

// result is one measurement. The figures of a story are in Seconds.
type result struct {
	Program, Work string
	Side          side
	Round         int
	Look          look  // when the time was up
	Live          int64 // after that
	ToHere        int64 // bytes on the wire
	Families      map[string]string
	Seconds       map[string]float64
	PodBytes      int    // of one pod's JSON
	Server        string // its version
}

// versionOf is the server's.
func versionOf(client kubernetes.Interface) (string, error) {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

// open starts a server and fills it. A first run of the manager, which is not measured, writes what is left to write:
// status, service accounts, and the like.
func (s *standing) open(ctx context.Context) (err error) {
	if s.plane, err = controlplane.Launch(controlplane.Options{Bare: true}); err != nil {
		return err
	}
	if s.client, err = clientFor(s.plane); err != nil {
		return err
	}
	if s.kubelets, s.stop, err = startKubelets(ctx, s.client, nodes, false); err != nil {
		return err
	}
	began := time.Now()
	if err := fill(ctx, s.client, s.load); err != nil {
		return fmt.Errorf("filling the server: %w", err)
	}
	progress("%s filled in %.0f s", s.load, time.Since(began).Seconds())
	return s.settle(ctx)
}

// settle runs the manager until it has written nothing for ten seconds, and has nothing left to write.
func (s *standing) settle(ctx context.Context) (err error) {
	p, err := startProgram(ctx, s.binary, manager, clientGo, s.plane)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	began, last, since := time.Now(), int64(-1), time.Now()
	for time.Since(began) < 10*time.Minute {
		l, err := p.look(ctx, false)
		if err != nil {
			return err
		}
		if l.Writes != last || l.check(clientGo) != nil {
			last, since = l.Writes, time.Now()
		}
		if time.Since(since) > 10*time.Second {
			if err := s.settled(ctx); err != nil {
				return err
			}
			progress("settled after %.0f s and %d writes", time.Since(began).Seconds(), last)
			return nil
		}
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
	}
	return fmt.Errorf("the manager still writes after ten minutes: %d so far", last)
}

// settled says whether the controllers of Deployments and ReplicaSets have seen all.
func (s *standing) settled(ctx context.Context) error {
	sets, err := s.client.AppsV1().ReplicaSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, set := range sets.Items {
		if set.Status.ObservedGeneration < set.Generation || set.Status.AvailableReplicas != *set.Spec.Replicas {
			return fmt.Errorf("the manager rests, and %s is not settled: %+v", set.Name, set.Status)
		}
	}
	deployments, err := s.client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if !isComplete(&d, int32(s.load.Replicas)) {
			return fmt.Errorf("the manager rests, and %s is not complete: %+v", d.Name, d.Status)
		}
	}
	pods, err := s.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(pods.Items) == 0 {
		return errors.Join(errors.New("no pods"), err)
	}
	raw, err := json.Marshal(pods.Items[0])
	s.podBytes = len(raw)
	return err
}

func (s *standing) close() error {
	if s.stop != nil {
		s.stop()
	}
	if s.plane == nil {
		return nil
	}
	return s.plane.Stop()
}

// one measures a program.
func (s *standing) one(ctx context.Context, name string, of side) (r result, err error) {
	r = result{Program: name, Side: of, Work: s.load.String(), PodBytes: s.podBytes}
	if r.Server, err = versionOf(s.client); err != nil {
		return r, err
	}
	// The server's garbage of one measurement would be collected during the next.
	collect := s.client.CoreV1().RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1")
	if err := collect.Do(ctx).Error(); err != nil {
		return r, fmt.Errorf("tidying the server: %w", err)
	}
	p, err := startProgram(ctx, s.binary, name, of, s.plane)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := wait(ctx, s.lasts); err != nil {
		return r, err
	}
	if r.Look, err = p.look(ctx, false); err != nil {
		return r, err
	}
	r.ToHere = p.relay.toHere.Load()
	after, err := p.look(ctx, true)
	if err != nil {
		return r, err
	}
	r.Live = int64(after.Live)
	if err := s.profile(ctx, p, of); err != nil {
		return r, err
	}
	if r.Families, err = p.families(ctx); err != nil {
		return r, err
	}
	return r, errors.Join(r.Look.check(of), s.kubelets.failed())
}

// profile keeps the heap as the last collection left it.
func (s *standing) profile(ctx context.Context, p *program, of side) error {
	if s.profiles == "" {
		return nil
	}
	raw, err := p.get(ctx, "/debug/pprof/heap")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s %s %s.pprof", p.name, s.load, of)
	name = strings.NewReplacer(" × ", "x", ", ", "-", " ", "-").Replace(name)
	return os.WriteFile(filepath.Join(s.profiles, name), raw, 0o644)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
