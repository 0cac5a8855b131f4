package main

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
)

func TestRoutes_StaticOnesWin(t *testing.T) {
	inWorld(t, "", func(w *world) {
		require.Equal(w, "pong", w.get(200, "/ping").Message)
		require.Equal(w, "PodList", w.get(200, "/pod/list").Data.Kind)
		require.Equal(w, "ConfigMapList", w.get(200, list).Data.Kind)
		require.Equal(w, "apps/v1", w.get(200, "/deployments/apps/v1").Data.APIVersion)
		require.Equal(w, http.StatusOK, w.send("/apis/apps/v1").StatusCode, "passed on, and no kind of a group apps")
		require.Contains(w, w.get(404, "/apiservices/apiregistration.k8s.io/v1").Message, "apiservices", "no /api")
		require.Contains(w, w.get(404, "/pods/apps/v1").Message, "could not find the requested resource")
		w.get(400, "/pods//v1")
		w.get(404, "/pods")
		w.get(400, "/pods/core%2F..%2Fx/v1")
		require.Equal(w, http.StatusUnauthorized, w.send(list, "Authorization", "Bearer 0123456789abcdeg").StatusCode)
		require.Equal(w, http.StatusUnauthorized, w.send("/api/v1", "Authorization", "").StatusCode)
	})
	mux := http.NewServeMux()
	mux.Handle("/{resource}/{group}/{version}", http.NotFoundHandler())
	require.Panics(t, func() { mux.Handle("/api/{rest...}", http.NotFoundHandler()) })
}

func TestRead_SelectsAndRefusesWhatItDoesNotKnow(t *testing.T) {
	inWorld(t, "", func(w *world) {
		for i, app := range []string{"web", "web", "db"} {
			w.put(fmt.Sprintf("m%d", i), app)
		}
		require.Equal(w, "m0 m1 m2", w.get(200, list+"?namespace=default").names())
		require.Equal(w, "m0 m1", w.get(200, list+"?labelSelector=app%3Dweb").names())
		require.Empty(w, w.get(200, list+"?namespace=kube-system").names())
		require.Equal(w, "m1", w.get(200, list+"?namespace=default&name=m1").Data.Metadata.Name)
		require.Equal(w, "default", w.get(200, "/namespaces/core/v1?name=default").Data.Metadata.Name)
		w.get(404, list+"?namespace=default&name=m9")
		w.get(403, "/secrets/core/v1")
		for _, wrong := range []string{"labelselector=a", "labelSelector=%21%21", "limit=-1", "limit=x", "watch=maybe",
			"name=m1", "labelSelector=app%3Dweb;limit=1", "namespace=default&name=m0%", "limit=1&limit=2", "%zz=1",
			"namespace=default&namespace=kube-system", "minResourceVersion=01", "name=m1&namespace=default&watch=1", "watch=1&limit=2"} {
			w.get(400, list+"?"+wrong)
		}
		require.Contains(w, w.get(400, list+"?labelSelector=app%3Dweb;limit=1").Message, "labelSelector: ")
		require.Contains(w, w.get(400, list+"?namespace=default&name=m0%").Message, "name: ")
		require.Contains(w, w.get(400, list+"?limit=1&limit=1").Message, "limit: comes more than once")
		w.get(400, "/namespaces/core/v1?namespace=default")
	})
}

func TestRead_AnInformerThatHasNotSyncedDoesNotAnswerEmpty(t *testing.T) {
	inWorld(t, "", func(w *world) {
		w.put("m0", "web")
		fault := apiserver.Failure{Verb: "list", Resource: "configmaps", Code: 500}
		w.Faults().RefuseStreamingLists(true)
		w.Faults().FailNext(-1, fault)
		require.Contains(w, w.get(503, list).Message, "configmaps")
		fault.Code = 403
		w.Faults().Reset()
		w.Faults().FailNext(-1, fault)
		w.Faults().FailNext(-1, apiserver.Failure{Verb: "watch", Resource: "configmaps", Code: 403})
		pass(time.Minute)
		require.Contains(w, w.get(403, list).Message, "this server itself may not read it")
		w.Faults().Reset()
		pass(time.Minute)
		require.Equal(w, "m0", w.get(200, list).names())
	})
}

func TestPages_FollowEachOther(t *testing.T) {
	inWorld(t, "", func(w *world) {
		for i := range 3 {
			w.put(fmt.Sprintf("m%d", i), "web")
		}
		first := w.get(200, list+"?limit=2")
		require.Equal(w, "m0 m1", first.names())
		require.Equal(w, 1, first.Data.Metadata.RemainingItemCount)
		require.Equal(w, "m2", w.get(200, list+"?limit=2&continue="+first.Data.Metadata.Continue).names())
		w.get(400, "/pods/core/v1?continue="+first.Data.Metadata.Continue)
		w.get(410, list+"?continue=x.2")
	})
}

func TestETag_ChangesWithTheObjects(t *testing.T) {
	inWorld(t, "", func(w *world) {
		w.put("m0", "web")
		for i, path := range []string{list, list + "?namespace=default&name=m0"} {
			tag := w.send(path).Header.Get("ETag")
			require.NotEmpty(w, tag)
			require.Equal(w, http.StatusNotModified, w.send(path, "If-None-Match", tag).StatusCode)
			w.put("m0", fmt.Sprint("v", i))
			synctest.Wait()
			require.Equal(w, http.StatusOK, w.send(path, "If-None-Match", tag).StatusCode)
		}
	})
}

func TestETag_OfAPageEndsWithItsContinueToken(t *testing.T) {
	inWorld(t, "", func(w *world) {
		for i := range 3 {
			w.put(fmt.Sprintf("m%d", i), "web")
		}
		const page = list + "?limit=2"
		w.get(200, page)
		w.get(410, page+"&continue=x.2")
		dead := w.send(page).Header.Get("ETag")
		pass(4 * time.Minute)
		require.Equal(w, http.StatusNotModified, w.send(page, "If-None-Match", dead).StatusCode)
		pass(4 * time.Minute) // the answer before gave the token five minutes more
		require.Equal(w, http.StatusNotModified, w.send(page, "If-None-Match", dead).StatusCode)
		pass(6 * time.Minute)
		w.get(200, list) // else the informer stops, for nobody reads
		require.Equal(w, http.StatusOK, w.send(page, "If-None-Match", dead).StatusCode)
		fresh := w.get(200, page).Data.Metadata.Continue
		require.Equal(w, "m2", w.get(200, page+"&continue="+fresh).names())
	})
}

func TestETag_IsComparedAsRFC9110Says(t *testing.T) {
	for header, want := range map[string]bool{
		`"a"`: true, `W/"a"`: true, `"b","a"`: true, `"b" , W/"a"`: true, `, "x,y",` + "\t" + `"a"`: true, `*`: true,
		``: false, `a`: false, `"b"`: false, `"a`: false, `"b, a"`: false, `w/"a"`: false, `"*"`: false,
	} {
		require.Equal(t, want, anyTag([]string{header}, "a"), header)
	}
	require.True(t, anyTag([]string{`"b"`, `"a"`}, "a"), "two lines are one list")
}

func TestMinResourceVersion_ReadsYourWrites(t *testing.T) {
	inWorld(t, "", func(w *world) {
		w.get(200, list)
		for i := range 20 {
			made := w.put(fmt.Sprintf("m%d", i), "web")
			w.get(200, list+"?namespace=default&name="+made.Name+"&minResourceVersion="+made.ResourceVersion)
		}
		w.get(504, list+"?minResourceVersion=999999999")
	})
}

func TestReads_CostNoRequestsAndTheInformerStopsWhenTheyEnd(t *testing.T) {
	inWorld(t, "--idle=1m --max-kinds=1", func(w *world) {
		w.get(200, list)
		before := w.sent.Load()
		for range 100 {
			w.get(200, list)
		}
		require.Equal(w, before, w.sent.Load())
		pass(61 * time.Second)
		require.Zero(w, w.Faults().Watches())
		require.Equal(w, "SYNCED {}", w.watch(list+"?watch=1")())
		require.Contains(w, w.get(503, "/pods/core/v1").Message, "the limit is 1")
	})
}

func TestLimits_OfTimeAndNumberAndAtTheEnd(t *testing.T) {
	inWorld(t, "--timeout=10s", func(w *world) {
		conn, err := w.front.DialContext(w.Context(), "", "")
		require.NoError(w, err)
		go fmt.Fprintf(conn, "GET %s?watch=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", list)
		_, _ = io.ReadAll(conn) // without a token, it ends
		next := w.watch(list + "?watch=1")
		require.Equal(w, "SYNCED {}", next())
		w.server.end()
		require.Empty(w, next(), "a watch does not hold up the end")
		w.Faults().Delay(time.Minute)
		began := time.Now()
		require.Equal(w, http.StatusServiceUnavailable, w.send("/api/v1/pods").StatusCode)
		require.Equal(w, 10*time.Second, time.Since(began))
		for range maxRequests {
			w.server.places <- struct{}{}
		}
		w.get(429, list)
		w.get(200, "/ping")
	})
}

func TestCustomResource_ComesAndGoes(t *testing.T) {
	inWorld(t, "", func(w *world) {
		client, err := apiextensions.NewForConfig(w.Config)
		require.NoError(w, err)
		definitions := client.ApiextensionsV1().CustomResourceDefinitions()
		const gardens = "/gardens/example.com/v1"
		for range 2 {
			w.get(404, gardens)
			pass(10 * time.Second) // longer than a miss counts
			_, err = definitions.Create(w.Context(), definition(), metav1.CreateOptions{})
			require.NoError(w, err)
			pass(time.Second)
			require.Equal(w, "GardenList", w.get(200, gardens).Data.Kind)
			next := w.watch(gardens + "?watch=1")
			require.Equal(w, "SYNCED {}", next())
			require.NoError(w, definitions.Delete(w.Context(), "gardens.example.com", metav1.DeleteOptions{}))
			require.Contains(w, next(), `ERROR {"code":40000`)
			require.Empty(w, next())
		}
	})
}

func definition() *apiextensionsv1.CustomResourceDefinition {
	schema := &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
	version := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true, Storage: true, Schema: schema}
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "gardens.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "gardens", Kind: "Garden"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version}}}
}
