package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"glasswatch/internal/apiserver"
)

// podCounter has pods that differ in the fields and labels of selectors, and answers without a socket.
type podCounter struct {
	handler http.Handler
	pods    []corev1.Pod
}

func newPodCounter(t testing.TB) *podCounter {
	c := &podCounter{handler: apiserver.New(apiserver.Options{}).Handler()}
	for i, set := range []labels.Set{nil, {"app": "web"}, {"app": "web", "tier": "front"}, {"app": "db", "example.com/size": "12"}, {"app": ""}, {"tier": "back", "size": "7"}} {
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Namespace: "default", Labels: set},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Image: "i"}},
				NodeName:   []string{"", "node-1", "node-2"}[i%3], HostNetwork: i%2 == 0,
				RestartPolicy: []corev1.RestartPolicy{"Always", "Never"}[i%2],
			},
		}
		body, err := json.Marshal(&pod)
		require.NoError(t, err)
		answer := c.ask(context.Background(), http.MethodPost, "/api/v1/namespaces/default/pods", body)
		require.Equal(t, http.StatusCreated, answer.Code, "%s", answer.Body)
	}
	c.pods = c.list(t, nil).Items
	require.Len(t, c.pods, 6)
	return c
}

func (c *podCounter) ask(ctx context.Context, method, target string, body []byte) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(ctx, method, "/", bytes.NewReader(body))
	path, query, _ := strings.Cut(target, "?")
	req.URL.Path, req.URL.RawQuery = path, query
	req.Header.Set("Content-Type", "application/json")
	c.handler.ServeHTTP(answer, req)
	return answer
}

const podsPath = "/api/v1/namespaces/default/pods"

func (c *podCounter) list(t testing.TB, query url.Values) (list corev1.PodList) {
	answer := c.ask(context.Background(), http.MethodGet, podsPath+"?"+query.Encode(), nil)
	require.Equal(t, http.StatusOK, answer.Code, "%s", answer.Body)
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &list))
	return list
}

// paged are the names that a list of two a page has.
func (c *podCounter) paged(t testing.TB, query url.Values) (names []string) {
	query.Set("limit", "2")
	defer func() { query.Del("limit"); query.Del("continue") }()
	for range len(c.pods) + 1 {
		page := c.list(t, query)
		names = append(names, podNames(page.Items)...)
		if page.Continue == "" {
			return names
		}
		query.Set("continue", page.Continue)
	}
	require.Fail(t, "the pages do not end")
	return nil
}

// watched are the names of the objects that a watch begins with. Its client is gone by then, so it ends.
func (c *podCounter) watched(t testing.TB, query url.Values) (names []string) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	query.Set("watch", "1")
	defer query.Del("watch")
	answer := c.ask(ctx, http.MethodGet, podsPath+"?"+query.Encode(), nil)
	require.Equal(t, http.StatusOK, answer.Code, "%s", answer.Body)
	for line := range strings.Lines(answer.Body.String()) {
		var event struct {
			Type   string
			Object corev1.Pod
		}
		require.NoError(t, json.Unmarshal([]byte(line), &event), "%s", line)
		require.Equal(t, "ADDED", event.Type)
		names = append(names, event.Object.Name)
	}
	return names
}

func podNames(pods []corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// podFieldsOf are the fields of a pod that a real server selects by, written down a second time.
func podFieldsOf(p *corev1.Pod) fields.Set {
	return fields.Set{
		"metadata.name": p.Name, "metadata.namespace": p.Namespace,
		"spec.nodeName": p.Spec.NodeName, "spec.restartPolicy": string(p.Spec.RestartPolicy),
		"spec.schedulerName": p.Spec.SchedulerName, "spec.serviceAccountName": p.Spec.ServiceAccountName,
		"spec.hostNetwork": strconv.FormatBool(p.Spec.HostNetwork),
		"status.phase":     string(p.Status.Phase), "status.podIP": p.Status.PodIP, "status.nominatedNodeName": p.Status.NominatedNodeName,
	}
}

// selected are the names of the pods that apimachinery's selectors match; ok is false if there is no such selection.
func (c *podCounter) selected(label, field string) (names []string, ok bool) {
	byLabel, err := labels.Parse(label)
	if err != nil {
		return nil, false
	}
	byField, err := fields.ParseSelector(field)
	if err != nil {
		return nil, false
	}
	for _, term := range byField.Requirements() {
		if _, known := podFieldsOf(&c.pods[0])[term.Field]; !known {
			return nil, false
		}
	}
	for _, pod := range c.pods {
		if byLabel.Matches(labels.Set(pod.Labels)) && byField.Matches(podFieldsOf(&pod)) {
			names = append(names, pod.Name)
		}
	}
	return names, true
}

// requireFailure: an answer that is not a success is a Status that says the same as the line above it, and why.
func requireFailure(t testing.TB, answer *httptest.ResponseRecorder) metav1.Status {
	var status metav1.Status
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &status), "%s", answer.Body)
	require.Equal(t, "Status", status.Kind)
	require.Equal(t, metav1.StatusFailure, status.Status)
	require.EqualValues(t, answer.Code, status.Code)
	require.NotEmpty(t, status.Message)
	// One bad request gets a 500 from a real server, too: a watch from an invalid resourceVersion.
	if !strings.HasPrefix(status.Message, "resourceVersion: Invalid value: ") {
		require.Less(t, answer.Code, 500, "a bad question is not the server's fault: %s", status.Message)
	}
	return status
}

// FuzzSelectors: a selector is refused with a 400, or selects what apimachinery's selects: in a list, in its pages and in
// a watch.
func FuzzSelectors(f *testing.F) {
	for _, label := range []string{"", " ", "app", "!app", "app=web", "app==web", "app!=web", "app in (web,db)", "app notin (web)", "app in ()", "app=",
		"size>5", "example.com/size<13", "size>x", "app=web,tier", "app=web,,tier", ",", "app in (web", "app in web", "in in (in)", "notin", "a.b.c/d/e=f",
		"APP=web", "app=we b", "-app", "app=web\x00", "äpp=web", "!", "!app,app", "x in (a,b),y notin (c),!z"} {
		f.Add(label, "")
	}
	for _, field := range []string{" ", "metadata.name=pod-1", "metadata.name!=pod-1", "metadata.namespace=default", "spec.nodeName=", "spec.nodeName==node-1",
		"spec.hostNetwork=true,status.phase=Pending", "metadata.labels.app=web", "metadata.name", "=", "a=b=c", `metadata.name=pod\,1`, `metadata.name=pod\1`,
		`metadata.name=a\\`, ",", "metadata.name=pod-1,", "spec.restartPolicy!=Never,metadata.name!=", "spec.nodeName=node-1=2", "metadata.name=\xff"} {
		f.Add("", field)
	}
	f.Add("app=web", "spec.nodeName=node-1")
	pods := newPodCounter(f)
	f.Fuzz(func(t *testing.T, label, field string) {
		query := url.Values{"labelSelector": {label}, "fieldSelector": {field}}
		want, ok := pods.selected(label, field)
		if !ok {
			answer := pods.ask(context.Background(), http.MethodGet, podsPath+"?"+query.Encode(), nil)
			require.Equal(t, http.StatusBadRequest, answer.Code, "%s", answer.Body)
			require.Equal(t, metav1.StatusReasonBadRequest, requireFailure(t, answer).Reason)
			return
		}
		require.Equal(t, want, podNames(pods.list(t, query).Items))
		require.Equal(t, want, pods.paged(t, query))
		require.Equal(t, want, pods.watched(t, query))
	})
}

// FuzzQuery: whatever is in the query of a list or a watch, the answer is pods, or a Status that blames the client.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{"", "limit=1", "limit=-1", "limit=x", "limit=1&limit=2", "continue=x", "continue=" + url.QueryEscape(`eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0`),
		"resourceVersion=0", "resourceVersion=1", "resourceVersion=-1", "resourceVersion=x", "resourceVersion=18446744073709551616", "resourceVersion=999999&resourceVersionMatch=Exact",
		"resourceVersionMatch=Exact", "resourceVersionMatch=Other&resourceVersion=1", "resourceVersion=0&resourceVersionMatch=NotOlderThan", "watch", "watch=1&resourceVersion=1",
		"watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "watch=1&sendInitialEvents=false", "watch=1&timeoutSeconds=9223372036854775807",
		"watch=1&timeoutSeconds=-1", "watch=0", "sendInitialEvents=true", "pretty=1", "labelSelector=a%3Db&fieldSelector=metadata.name%3Dpod-1", "%zz", "a;b", "limit=1;continue=x",
		"allowWatchBookmarks=maybe", "timeoutSeconds=1e3", "labelSelector=%00", "watch=1&resourceVersion=999999"} {
		f.Add(query)
	}
	pods := newPodCounter(f)
	names := podNames(pods.pods)
	gone, cancel := context.WithCancel(context.Background()) // no request waits
	cancel()
	f.Fuzz(func(t *testing.T, query string) {
		answer := pods.ask(gone, http.MethodGet, podsPath+"?"+query, nil)
		if answer.Code == http.StatusGatewayTimeout { // a version in the future, and the request does not wait for it
			require.Contains(t, answer.Body.String(), "Too large resource version")
			return
		}
		if answer.Code != http.StatusOK {
			requireFailure(t, answer)
			return
		}
		decoder := json.NewDecoder(answer.Body)
		for decoder.More() {
			var got struct {
				Kind, Type string
				Items      []corev1.Pod
			}
			require.NoError(t, decoder.Decode(&got))
			require.True(t, got.Kind == "PodList" || slices.Contains([]string{"ADDED", "BOOKMARK", "ERROR"}, got.Type), "%+v", got)
			require.Subset(t, names, podNames(got.Items))
		}
	})
}
