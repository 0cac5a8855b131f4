package apiserver_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
)

func names(list *corev1.ServiceList) []string {
	out := []string{}
	for _, s := range list.Items {
		out = append(out, s.Name)
	}
	return out
}

func (c *cluster) list(opts metav1.ListOptions) *corev1.ServiceList {
	list, err := c.services().List(c.Context(), opts)
	require.NoError(c, err)
	return list
}

func TestList_PagesShowOneMomentWhateverIsWrittenBetween(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("a", "b", "c", "d")
	rev := strconv.FormatInt(c.Revision(), 10)

	page := c.list(metav1.ListOptions{Limit: 2})
	require.Equal(t, []string{"a", "b"}, names(page))
	require.Equal(t, rev, page.ResourceVersion)
	require.EqualValues(t, 3, *page.RemainingItemCount)

	c.create("bb")
	require.NoError(t, c.services().Delete(c.Context(), "c", metav1.DeleteOptions{}))

	page = c.list(metav1.ListOptions{Limit: 2, Continue: page.Continue})
	require.Equal(t, []string{"c", "d"}, names(page))
	require.Equal(t, rev, page.ResourceVersion)
	require.EqualValues(t, 1, *page.RemainingItemCount)
	page = c.list(metav1.ListOptions{Limit: 2, Continue: page.Continue})
	require.Equal(t, []string{"kubernetes"}, names(page))
	require.Empty(t, page.Continue)
	require.Nil(t, page.RemainingItemCount)

	require.Equal(t, []string{"a", "b", "bb", "d", "kubernetes"}, names(c.list(metav1.ListOptions{})))
}

func TestList_ACountIsGivenOnlyIfItIsExact(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("a", "b")
	page := c.list(metav1.ListOptions{Limit: 1, LabelSelector: "!component"})
	require.Equal(t, []string{"a"}, names(page))
	require.NotEmpty(t, page.Continue)
	require.Nil(t, page.RemainingItemCount)
	page = c.list(metav1.ListOptions{Limit: 1, LabelSelector: "!component", Continue: page.Continue})
	require.Equal(t, []string{"b"}, names(page))
	require.Empty(t, page.Continue, "what is left does not match")
}

func TestList_AnExpiredTokenComesWithOneThatGoesOn(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("a", "b")
	page := c.list(metav1.ListOptions{Limit: 1})
	c.create("bb")
	c.Faults().Compact()

	_, err := c.services().List(c.Context(), metav1.ListOptions{Limit: 1, Continue: page.Continue})
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	require.ErrorContains(t, err, "The provided continue parameter is too old to display a consistent list result.")
	token := err.(*apierrors.StatusError).ErrStatus.Continue
	require.NotEmpty(t, token)
	rest := c.list(metav1.ListOptions{Continue: token})
	require.Equal(t, []string{"b", "bb", "kubernetes"}, names(rest))
	require.Equal(t, strconv.FormatInt(c.Revision(), 10), rest.ResourceVersion)
}

func TestList_BadTokensAreBadRequests(t *testing.T) {
	c := start(t, apiserver.Options{})
	for _, token := range []string{"!", "bm90IGpzb24", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0"} {
		_, err := c.services().List(c.Context(), metav1.ListOptions{Continue: token})
		require.True(t, apierrors.IsBadRequest(err), "%q: %v", token, err)
	}
	page := c.raw("GET", "/api/v1/namespaces?limit=1", "")
	require.Equal(t, 200, page.code)
	c.create("a")
	token := c.list(metav1.ListOptions{Limit: 1}).Continue
	_, err := c.services().List(c.Context(), metav1.ListOptions{Continue: token, ResourceVersion: "5"})
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
	require.ErrorContains(t, err, "specifying resource version is not allowed when using continue")
}

func TestList_ResourceVersionsMeanWhatTheMatchSays(t *testing.T) {
	c := start(t, apiserver.Options{})
	first := c.create("a")
	c.create("b")
	at := func(rv string, match metav1.ResourceVersionMatch, limit int64) []string {
		return names(c.list(metav1.ListOptions{ResourceVersion: rv, ResourceVersionMatch: match, Limit: limit}))
	}
	rv := first.ResourceVersion
	require.Equal(t, []string{"a", "kubernetes"}, at(rv, metav1.ResourceVersionMatchExact, 0))
	require.Equal(t, []string{"a", "b", "kubernetes"}, at(rv, metav1.ResourceVersionMatchNotOlderThan, 0))
	require.Equal(t, []string{"a", "b", "kubernetes"}, at(rv, "", 0))
	require.Equal(t, []string{"a", "kubernetes"}, at(rv, "", 10), "a page of a version is a page of that version")
	require.Equal(t, []string{"a", "b", "kubernetes"}, at("0", "", 1), "any version comes whole")

	c.Faults().Compact()
	_, err := c.services().List(c.Context(), metav1.ListOptions{ResourceVersion: rv, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	require.EqualError(t, err, "The resourceVersion for the provided list is too old.")
}

func TestList_AVersionFromTheFutureIsWaitedForAndThenATimeout(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		next := strconv.FormatInt(c.Revision()+1, 10)
		begin := time.Now()
		got := c.raw("GET", "/api/v1/services?resourceVersion="+next, "")
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.Equal(t, 504, got.code)
		require.Equal(t, "1", got.header.Get("Retry-After"))
		status := got.status(t)
		require.Equal(t, metav1.StatusReasonTimeout, status.Reason)
		require.Equal(t, fmt.Sprintf("Timeout: Too large resource version: %s, current: %d", next, c.Revision()), status.Message)
		require.Equal(t, metav1.CauseTypeResourceVersionTooLarge, status.Details.Causes[0].Type)

		listed := make(chan int)
		go func() {
			list, err := c.services().List(c.Context(), metav1.ListOptions{ResourceVersion: next})
			assert.NoError(t, err)
			listed <- len(list.Items)
		}()
		<-time.After(time.Second)
		c.create("a")
		require.Equal(t, 2, <-listed)
	})
}

func TestList_RefusesOptionsThatDoNotGoTogether(t *testing.T) {
	c := start(t, apiserver.Options{})
	for query, message := range map[string]string{
		"resourceVersionMatch=Exact":                     "resourceVersionMatch is forbidden unless resourceVersion is provided",
		"resourceVersionMatch=Exact&resourceVersion=0":   `resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"`,
		"resourceVersionMatch=Nearly&resourceVersion=10": "Unsupported value",
		"sendInitialEvents=true":                         "sendInitialEvents is forbidden for list",
	} {
		got := c.raw("GET", "/api/v1/services?"+query, "")
		require.Equal(t, 422, got.code, query)
		require.Contains(t, got.body, message)
	}
	for _, query := range []string{"labelSelector=%3D%3D", "fieldSelector=nope", "resourceVersion=x", "limit=x"} {
		require.Equal(t, 400, c.raw("GET", "/api/v1/services?"+query, "").code, query)
	}
}

func TestList_FieldsThatCannotBeSelectedAreBadRequests(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.create("a")
	require.Equal(t, []string{"a"}, names(c.list(metav1.ListOptions{FieldSelector: "metadata.name=a"})))
	require.Equal(t, []string{"a", "kubernetes"}, names(c.list(metav1.ListOptions{FieldSelector: "spec.type=ClusterIP,metadata.namespace!=x"})))
	_, err := c.services().List(c.Context(), metav1.ListOptions{FieldSelector: "spec.sessionAffinity=None"})
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
	require.EqualError(t, err, "field label not supported: spec.sessionAffinity")
}

func TestList_ANamespaceDoesNotShowItsNeighbours(t *testing.T) {
	c := start(t, apiserver.Options{})
	for _, ns := range []string{"a", "a-b", "a0"} {
		_, err := c.clientset("").CoreV1().Namespaces().Create(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = c.clientset("").CoreV1().Services(ns).Create(c.Context(), service("in-"+ns), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	list, err := c.clientset("").CoreV1().Services("a").List(c.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"in-a"}, names(list))
	_, err = c.clientset("").CoreV1().Services("a").Create(c.Context(), service("more"), metav1.CreateOptions{})
	require.NoError(t, err)
	page, err := c.clientset("").CoreV1().Services("a").List(c.Context(), metav1.ListOptions{Limit: 1})
	require.NoError(t, err)
	require.EqualValues(t, 1, *page.RemainingItemCount)
	elsewhere := c.list(metav1.ListOptions{Continue: page.Continue})
	require.Equal(t, []string{"kubernetes"}, names(elsewhere), "a token does not open another namespace")
	list, err = c.clientset("").CoreV1().Services("").List(c.Context(), metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Equal(t, []string{"in-a-b", "in-a"}, names(list), "in the order of the keys")
	require.EqualValues(t, 3, *list.RemainingItemCount)
}
