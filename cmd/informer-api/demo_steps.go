package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/cmd/internal/demo"
)

const (
	objects   = 1000
	mostTries = 60
	list      = "/configmaps/core/v1"
	one       = list + "?namespace=default&name=cm-7"
)

// open asks with the token, if that is not empty. 503 says that the informer has not read so far yet, and to come back after a second.
func (s *show) open(ctx context.Context, method, url, token string) (*http.Response, error) {
	for tries := 1; ; tries++ {
		r, err := http.NewRequestWithContext(ctx, method, url, nil)
		if err != nil {
			return nil, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusServiceUnavailable || tries == mostTries {
			return answer, err
		}
		_ = answer.Body.Close() // what it says is known
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// get wants a status.
func (s *show) get(ctx context.Context, want int, method, url, token string) (string, error) {
	answer, err := s.open(ctx, method, url, token)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != want {
		err = fmt.Errorf("%s %s: want %d, got %s %s", method, url, want, answer.Status, body)
	}
	return string(body), err
}

func (s *show) create(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	return s.client.ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
		Data: map[string]string{"key": "value"}}, metav1.CreateOptions{})
}

func (s *show) first(ctx context.Context) error {
	for i := range objects {
		if _, err := s.create(ctx, fmt.Sprintf("cm-%d", i)); err != nil {
			return err
		}
	}
	s.Entry("did", "", fmt.Sprintf("created %d ConfigMaps; GET %s", objects, list))
	body, err := s.get(ctx, http.StatusOK, "GET", s.url+list, s.token)
	if err == nil {
		s.Entry("saw", "", fmt.Sprintf("%.37s…, %d objects", body, strings.Count(body, `"uid"`)))
		s.Entry("saw", "", fmt.Sprintf("requests to the API server: %d: discovery, list and watch in one", s.sent.Load()))
	}
	return err
}

// costs prints a row for each way to read, and wants that reads from the cache cost the API server nothing.
func (s *show) costs(ctx context.Context) error {
	rows := [][]string{{"way", "requests to the API server", "time for each"}}
	const object = "/api/v1/namespaces/default/configmaps/cm-7"
	for _, way := range []struct {
		what, url, token string
		times, cost      int64
	}{
		{"one object, from the cache", s.url + one, s.token, 1000, 0},
		{"the same from the API server", s.direct + object, "", 200, 200},
		{"passed on, the way of kubectl proxy", s.url + object, s.token, 200, 200},
		{"all objects, from the cache", s.url + list, s.token, 20, 0},
		{"the same from the API server", s.direct + "/api/v1/configmaps", "", 20, 20},
	} {
		each, cost, err := s.measure(ctx, way.url, way.token, way.times)
		if err != nil {
			return err
		}
		if way.token == "" {
			cost = way.times // the demo's own requests
		}
		if cost != way.cost {
			return fmt.Errorf("%s: want %d requests, got %d", way.what, way.cost, cost)
		}
		what := fmt.Sprintf("%6d × %s", way.times, way.what)
		rows = append(rows, []string{what, fmt.Sprint(cost), each.Round(time.Microsecond).String()})
	}
	s.Table(rows...)
	s.Entry("why", demo.Dim, "this API server has no TLS, no users, no etcd; tests/check/e2e measures on a real one")
	return nil
}

func (s *show) ownWrite(ctx context.Context) error {
	made, err := s.create(ctx, "mine")
	if err != nil {
		return err
	}
	path := list + "?namespace=default&name=mine&minResourceVersion=" + made.ResourceVersion
	_, err = s.get(ctx, http.StatusOK, "GET", s.url+path, s.token)
	s.Entry("did", "", "created ConfigMap mine at resourceVersion "+made.ResourceVersion)
	s.Entry("saw", "", "GET "+path+": it is there")
	return err
}

func (s *show) events(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := s.open(ctx, "GET", s.url+list+"?watch=1", s.token)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	seen := map[string]int{}
	for lines := bufio.NewReader(answer.Body); err == nil; {
		var line string
		line, err = lines.ReadString('\n')
		kind, isEvent := strings.CutPrefix(line, "event: ")
		switch kind = strings.TrimSpace(kind); {
		case !isEvent:
			continue
		case kind == "SYNCED":
			s.Entry("saw", "", fmt.Sprintf("%d × ADDED, then SYNCED", seen["ADDED"]))
			err = s.client.ConfigMaps("default").Delete(ctx, "mine", metav1.DeleteOptions{})
			s.Entry("did", "", "deleted ConfigMap mine")
		case kind == "DELETED":
			s.Entry("saw", "", kind)
			return nil
		}
		seen[kind]++
	}
	return err
}

func (s *show) refused(ctx context.Context) error {
	for _, r := range []struct {
		want                int
		method, path, token string
	}{
		{401, "GET", list, ""},
		{401, "GET", "/api/v1/pods", ""},
		{403, "GET", "/secrets/core/v1", s.token},
		{403, "GET", "/api/v1/namespaces/default/secrets/a", s.token},
		{403, "GET", "/api/v1/namespaces/default/pods/a/exec?command=sh", s.token},
		{403, "DELETE", "/api/v1/namespaces/default/configmaps/cm-7", s.token},
		{404, "GET", "/gardens/example.com/v1", s.token},
		{400, "GET", list + "?labelselector=a", s.token},
	} {
		body, err := s.get(ctx, r.want, r.method, s.url+r.path, r.token)
		if err != nil {
			return err
		}
		_, message, _ := strings.Cut(body, `"message":"`)
		message, _, _ = strings.Cut(message, `","reason`)
		s.Entry("saw", "", fmt.Sprintf("%d %s %s: %s", r.want, r.method, r.path, strings.TrimSuffix(message, "\"}\n")))
	}
	return nil
}

// measure reads so many times. If the machine stands still between two reads for as long as an informer may be idle, the informer stops and
// the next read starts it again; then it is measured again.
func (s *show) measure(ctx context.Context, url, token string, times int64) (each time.Duration, cost int64, err error) {
	for {
		last, longest := time.Now(), time.Duration(0)
		read := func() error {
			_, err := s.get(ctx, http.StatusOK, "GET", url, token)
			longest, last = max(longest, time.Since(last)), time.Now()
			return err
		}
		if err := read(); err != nil { // the informer may have stopped before
			return 0, 0, err
		}
		before, began := s.sent.Load(), time.Now()
		for range times {
			if err := read(); err != nil {
				return 0, 0, err
			}
		}
		if longest < idleInDemo {
			return time.Since(began) / time.Duration(times), s.sent.Load() - before, nil
		}
	}
}

func (s *show) idle(ctx context.Context) error {
	err := demo.Eventually(ctx, func() error {
		if n := s.server.Faults().Watches(); n > 0 {
			return fmt.Errorf("the API server counts %d watches", n)
		}
		return nil
	})
	s.Entry("saw", "", "watches that the API server counts, --idle=2s later: 0")
	return err
}
