package apiserver_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver"
)

// story runs a test with a served cluster in virtual time.
func story(t *testing.T, options apiserver.Options, tell func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) { tell(t, start(t, options)) })
}

func TestWatch_FromNothingAndFromZeroBeginsWithWhatThereIs(t *testing.T) {
	for _, rv := range []string{"", "0"} {
		story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
			c.create("b", "a")
			w := c.open(metav1.ListOptions{ResourceVersion: rv})
			expect(t, w, "ADDED a", "ADDED b", "ADDED kubernetes")
			c.create("c")
			expect(t, w, "ADDED c")
		})
	}
}

func TestWatch_FromAnExactVersionReplaysWhatCameAfterIt(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		first := c.create("a")
		c.create("b")
		require.NoError(t, c.services().Delete(c.Context(), "a", metav1.DeleteOptions{}))
		w := c.open(metav1.ListOptions{ResourceVersion: first.ResourceVersion})
		last := expect(t, w, "ADDED b", "DELETED a")
		require.Equal(t, strconv.FormatInt(c.Revision(), 10), last.Object.(*corev1.Service).ResourceVersion,
			"a deletion carries its own version")
	})
}

func TestWatch_FromAForgottenVersionSaysExpired(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		first := c.create("a")
		c.create("b")
		running := c.open(metav1.ListOptions{ResourceVersion: first.ResourceVersion})
		expect(t, running, "ADDED b")
		c.Faults().Compact()

		w := c.open(metav1.ListOptions{ResourceVersion: first.ResourceVersion})
		e := expect(t, w, "ERROR")
		err := apierrors.FromObject(e.Object)
		require.True(t, apierrors.IsResourceExpired(err))
		require.EqualError(t, err, "too old resource version: "+first.ResourceVersion+" ("+strconv.FormatInt(c.Revision(), 10)+")")
		require.EqualValues(t, 410, err.(*apierrors.StatusError).ErrStatus.Code)
		expect(t, w, "end")

		c.create("c")
		expect(t, running, "ADDED c")
	})
}

func TestWatch_FromTheFutureWaits(t *testing.T) {
	story(t, apiserver.Options{BookmarkInterval: time.Second}, func(t *testing.T, c *cluster) {
		future := strconv.FormatInt(c.Revision()+2, 10)
		w := c.open(metav1.ListOptions{ResourceVersion: future, AllowWatchBookmarks: true})
		<-time.After(time.Minute)
		c.create("a", "b", "c")
		expect(t, w, "ADDED c")
	})
}

func TestWatch_ASelectorTurnsChangesIntoComingsAndGoings(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		obj := c.create("a")
		w := c.open(metav1.ListOptions{LabelSelector: "watched=yes", ResourceVersion: obj.ResourceVersion})
		label := func(value string) {
			var err error
			obj.Labels = map[string]string{"watched": value}
			obj, err = c.services().Update(c.Context(), obj, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		label("yes")
		label("no")
		left := obj.ResourceVersion
		label("maybe")
		label("yes")
		require.NoError(t, c.services().Delete(c.Context(), "a", metav1.DeleteOptions{}))
		expect(t, w, "ADDED a")
		gone := expect(t, w, "DELETED a").Object.(*corev1.Service)
		require.Equal(t, left, gone.ResourceVersion, "the version at which it left")
		require.Equal(t, "yes", gone.Labels["watched"], "the last state that matched")
		expect(t, w, "ADDED a", "DELETED a")
	})
}

func TestWatch_ANameAndANamespaceCanBeWatchedAlone(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		w := c.open(metav1.ListOptions{FieldSelector: "metadata.name=b"})
		elsewhere, err := c.clientset("").CoreV1().Services("kube-system").Watch(c.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		defer elsewhere.Stop()
		c.create("a", "b")
		_, err = c.clientset("").CoreV1().Services("kube-system").Create(c.Context(), service("dns"), metav1.CreateOptions{})
		require.NoError(t, err)
		expect(t, w, "ADDED b")
		expect(t, elsewhere, "ADDED dns")
	})
}

func TestWatch_BookmarksComeInIntervalsAndBeforeTheEnd(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		begin := time.Now()
		w := c.open(metav1.ListOptions{ResourceVersion: strconv.FormatInt(c.Revision(), 10), AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](90)})
		silent := c.open(metav1.ListOptions{ResourceVersion: strconv.FormatInt(c.Revision(), 10), TimeoutSeconds: ptr.To[int64](90)})
		_, err := c.clientset("").CoreV1().ConfigMaps("default").Create(c.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
		require.NoError(t, err)

		mark := expect(t, w, "BOOKMARK").Object.(*corev1.Service)
		require.Equal(t, time.Minute, time.Since(begin))
		require.Equal(t, strconv.FormatInt(c.Revision(), 10), mark.ResourceVersion, "changes of other resources count")
		require.Empty(t, mark.Annotations)
		require.Empty(t, mark.Name)
		expect(t, w, "BOOKMARK")
		require.Equal(t, 88*time.Second, time.Since(begin))
		expect(t, w, "end")
		expect(t, silent, "end")
		require.Equal(t, 90*time.Second, time.Since(begin))
	})
}

func TestWatch_StopsBookmarksOnDemand(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		c.Faults().StopBookmarks(true)
		w := c.open(metav1.ListOptions{ResourceVersion: strconv.FormatInt(c.Revision(), 10), AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](90)})
		expect(t, w, "end")
	})
}

func TestWatch_WithoutATimeoutEndsBetweenThirtyAndSixtyMinutes(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		begin := time.Now()
		w := c.open(metav1.ListOptions{ResourceVersion: strconv.FormatInt(c.Revision(), 10)})
		expect(t, w, "end")
		require.GreaterOrEqual(t, time.Since(begin), 30*time.Minute)
		require.Less(t, time.Since(begin), time.Hour)
	})
}

func streaming(rv string) metav1.ListOptions {
	return metav1.ListOptions{SendInitialEvents: ptr.To(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		ResourceVersion: rv, AllowWatchBookmarks: true}
}

func TestWatch_AStreamingListEndsWithItsBookmark(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		c.create("a")
		for _, rv := range []string{"", "0", strconv.FormatInt(c.Revision(), 10)} {
			w := c.open(streaming(rv))
			mark := expect(t, w, "ADDED a", "ADDED kubernetes", "BOOKMARK").Object.(*corev1.Service)
			require.Equal(t, map[string]string{metav1.InitialEventsAnnotationKey: "true"}, mark.Annotations)
			require.Equal(t, strconv.FormatInt(c.Revision(), 10), mark.ResourceVersion)
		}
		w := c.open(streaming(""))
		expect(t, w, "ADDED a", "ADDED kubernetes", "BOOKMARK")
		c.create("b")
		expect(t, w, "ADDED b")
	})
}

func TestWatch_AStreamingListOfTheFutureWaitsForItAndThenTimesOut(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		next := strconv.FormatInt(c.Revision()+1, 10)
		begin := time.Now()
		late := c.open(streaming(next))
		status := apierrors.FromObject(expect(t, late, "ERROR").Object)
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.True(t, apierrors.IsTimeout(status), "%v", status)
		require.True(t, apierrors.HasStatusCause(status, metav1.CauseTypeResourceVersionTooLarge), "%v", status)
		expect(t, late, "end")

		begin = time.Now()
		made := make(chan error, 1)
		time.AfterFunc(time.Second, func() {
			_, err := c.services().Create(c.Context(), service("a"), metav1.CreateOptions{})
			made <- err
		})
		w := c.open(streaming(next))
		expect(t, w, "ADDED a", "ADDED kubernetes", "BOOKMARK")
		require.Equal(t, time.Second, time.Since(begin))
		require.NoError(t, <-made)
	})
}

func TestWatch_WithoutInitialEventsOnlyTheFutureIsSent(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		opts := streaming("")
		opts.SendInitialEvents = ptr.To(false)
		w := c.open(opts)
		c.create("a")
		expect(t, w, "ADDED a")
	})
}

func TestWatch_TheInitialBookmarkCanBeWithheld(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		c.Faults().NeverSendInitialBookmark(true)
		w := c.open(streaming(""))
		expect(t, w, "ADDED kubernetes")
		mark := expect(t, w, "BOOKMARK").Object.(*corev1.Service) // a minute later, an ordinary one
		require.Empty(t, mark.Annotations)
	})
}

func TestWatch_RefusesOptionsThatDoNotGoTogether(t *testing.T) {
	c := start(t, apiserver.Options{})
	for query, message := range map[string]string{
		"sendInitialEvents=true":                              "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
		"resourceVersionMatch=NotOlderThan&resourceVersion=1": "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
		"sendInitialEvents=true&resourceVersionMatch=Exact":   "Unsupported value: \"Exact\"",
	} {
		got := c.raw("GET", "/api/v1/services?watch=true&"+query, "")
		require.Equal(t, 422, got.code, query)
		require.Contains(t, got.status(t).Message, message)
		require.Equal(t, metav1.StatusReasonInvalid, got.status(t).Reason)
	}
	c.Faults().RefuseStreamingLists(true)
	got := c.raw("GET", "/api/v1/services?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "")
	require.Equal(t, 422, got.code)
	require.Contains(t, got.status(t).Message, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
	require.Equal(t, 500, c.raw("GET", "/api/v1/services?watch=1&resourceVersion=abc", "").code, "as a real server says it")
}

func TestWatch_FramesAreLinesOfJSON(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		got := c.raw("GET", "/api/v1/namespaces?watch=true&timeoutSeconds=1", "")
		require.Equal(t, "application/json", got.header.Get("Content-Type"))
		lines := strings.Split(strings.TrimSuffix(got.body, "\n"), "\n")
		require.Len(t, lines, 4)
		require.True(t, strings.HasPrefix(lines[0], `{"type":"ADDED","object":{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default"`), lines[0])
		got = c.raw("GET", "/api/v1/namespaces?watch=true&timeoutSeconds=1", "", "Accept: application/vnd.kubernetes.protobuf")
		require.Equal(t, "application/vnd.kubernetes.protobuf;stream=watch", got.header.Get("Content-Type"))
	})
}

func TestWatch_TablesComeWithColumnsOnce(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		got := c.raw("GET", "/api/v1/namespaces?watch=true&timeoutSeconds=1", "", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
		lines := strings.Split(strings.TrimSuffix(got.body, "\n"), "\n")
		require.Len(t, lines, 4)
		require.Contains(t, lines[0], `"columnDefinitions":[{"name":"Name"`)
		require.Contains(t, lines[0], `"kind":"Table"`)
		require.NotContains(t, lines[1], `"name":"Status"`)
	})
}
