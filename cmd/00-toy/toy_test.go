package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// world is an API server in virtual time with a toy that works on it.
type world struct {
	*apiservertest.Server
	maps  clientcorev1.ConfigMapInterface
	http  *http.Client
	toy   *toy
	stop  func() // the toy
	steps atomic.Int64
}

// inWorld plays a story in virtual time. When it ends, nothing may be left of the toy.
func inWorld(t *testing.T, play func(w *world)) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		httpClient, err := rest.HTTPClientFor(server.Config)
		require.NoError(server, err)
		server.Cleanup(httpClient.CloseIdleConnections)
		httpClient.Timeout = 6 * time.Minute
		w := &world{Server: server, maps: server.Client.CoreV1().ConfigMaps("default"), http: httpClient}
		w.start()
		play(w)
	})
}

// start lets a toy begin with an empty store.
func (w *world) start() {
	url := w.Config.Host + "/api/v1/namespaces/default/configmaps"
	w.toy = newToy(w.http, url, func(string, string, ...any) { w.steps.Add(1) })
	w.stop = apiservertest.Go(w.Server, func(ctx context.Context) error { w.toy.run(ctx); return nil })
}

// put writes a ConfigMap of a group. Two writers may collide; the loser's write is left out.
func (w *world) put(group, name, data string) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"group": group}},
		Data: map[string]string{"data": data}}
	if _, err := w.maps.Update(w.Context(), object, metav1.UpdateOptions{}); err != nil {
		_, _ = w.maps.Create(w.Context(), object, metav1.CreateOptions{})
	}
}

func (w *world) remove(name string) { _ = w.maps.Delete(w.Context(), name, metav1.DeleteOptions{}) }

// requireRight gives the toy time, and compares its store with the server, and the copies with the originals.
func (w *world) requireRight() {
	w.Helper()
	w.Faults().Reset()
	<-time.After(10 * time.Minute) // in virtual time: longer than a watch and than any backoff
	list, err := w.maps.List(w.Context(), metav1.ListOptions{LabelSelector: "group in (original,copy)"})
	require.NoError(w, err)
	server, want, got := map[string]string{}, map[string]string{}, map[string]string{}
	for _, item := range list.Items {
		server[item.Name] = item.ResourceVersion
		if item.Labels["group"] == "original" {
			want[item.Name+suffix] = item.Data["data"]
		} else {
			got[item.Name] = item.Data["data"]
		}
	}
	require.Equal(w, want, got, "each original has its copy, and there are no others")
	store := map[string]string{}
	w.toy.mu.Lock()
	defer w.toy.mu.Unlock()
	for name, object := range w.toy.store {
		store[name] = object.Metadata.ResourceVersion
	}
	require.Equal(w, server, store, "the store is equal to the server")
}

// act does one random thing.
func (w *world) act(random *rand.Rand) {
	name := string(rune('a' + random.IntN(4)))
	codes := []int{0, 404, 409, 410, 429, 500, 503}
	actions := []func(){
		func() { w.put("original", name, strconv.Itoa(random.IntN(1000))) },
		func() { w.put("original", name, strconv.Itoa(random.IntN(1000))) },
		func() { w.remove(name) },
		func() { w.put("copy", name+suffix, "wrong") },
		func() { w.remove(name + suffix) },
		func() { w.put("neither", name, "no longer selected") },
		func() { w.Faults().DropWatches() },
		func() { w.Faults().BreakWatches() },
		func() { w.Faults().ExpireWatches() },
		func() { w.Faults().CutNextFrame() },
		func() { w.Faults().GarbleNextFrame() },
		func() { w.Faults().Compact() },
		func() { w.Faults().FailNext(1+random.IntN(2), apiserver.Failure{Code: codes[random.IntN(len(codes))]}) },
		func() { <-time.After(time.Duration(random.IntN(3000)) * time.Millisecond) }, // in virtual time
	}
	actions[random.IntN(len(actions))]()
}

func TestToy_IsRightAfterAnyFaults(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inWorld(t, func(w *world) {
				random := rand.New(rand.NewPCG(seed, 0))
				for range 3 {
					for range 40 {
						w.act(random)
					}
					w.requireRight()
				}
			})
		})
	}
}

func TestToy_ADeletionWithoutAWatchIsFoundByTheNextList(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put("original", "a", "1")
		w.put("original", "b", "1")
		w.requireRight()
		w.Faults().FailNext(3, apiserver.Failure{Verb: "watch", Code: 503})
		w.Faults().DropWatches()
		synctest.Wait()
		w.remove("a")
		w.Faults().Compact()
		w.requireRight()
		require.Len(w, w.toy.store, 2, "b and its copy")
	})
}

func TestToy_AfterARestartTheCopyOfAnOriginalThatIsGoneIsDeleted(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put("original", "a", "1")
		w.requireRight()
		w.stop()
		w.remove("a")
		w.start()
		w.requireRight()
		require.Empty(w, w.toy.store)
	})
}

func TestToy_ACopyThatCameAndWentWithoutAWatchIsMadeAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put("original", "a", "1")
		w.requireRight()
		w.Faults().FailNext(1, apiserver.Failure{Verb: "create", Code: 500})
		w.remove("a" + suffix)
		synctest.Wait()
		w.Faults().FailNext(20, apiserver.Failure{Verb: "watch", Code: 503})
		w.Faults().DropWatches()
		<-time.After(time.Second) // in virtual time: the retry makes the copy, and no watch tells it
		_, err := w.maps.Get(w.Context(), "a"+suffix, metav1.GetOptions{})
		require.NoError(w, err)
		w.remove("a" + suffix)
		w.Faults().Compact()
		w.requireRight()
	})
}

func TestToy_RestsWhenThereIsNothingToDo(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put("original", "a", "1")
		w.requireRight()
		before := w.steps.Load()
		<-time.After(time.Hour) // in virtual time; watches last five minutes, and each end is a step
		require.LessOrEqual(w, w.steps.Load()-before, int64(13))
	})
}

func TestToy_RetriesLessAndLessOften(t *testing.T) {
	inWorld(t, func(w *world) {
		w.requireRight()
		w.Faults().FailNext(1000, apiserver.Failure{Verb: "watch", Code: 503})
		w.Faults().DropWatches()
		before := w.steps.Load()
		<-time.After(10 * time.Minute) // in virtual time
		require.Greater(w, w.steps.Load()-before, int64(20), "twice a minute")
		require.Less(w, w.steps.Load()-before, int64(60))
	})
}

func TestToy_DoesNotDeleteACopyThatItHasNotSeen(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put("original", "a", "1")
		w.requireRight()
		w.Faults().FailNext(1000, apiserver.Failure{Verb: "watch", Code: 503})
		w.Faults().DropWatches()
		synctest.Wait()
		w.remove("a" + suffix)
		w.put("copy", "a"+suffix, "another one of this name")
		w.toy.mu.Lock()
		delete(w.toy.store, "a")
		w.toy.mu.Unlock()
		_, err := w.toy.reconcile(w.Context(), "a")
		require.Equal(w, refusal(409), err)
	})
}

func TestToy_LeavesAloneWhatIsNotItsCopy(t *testing.T) {
	inWorld(t, func(w *world) {
		w.put("original", "a", "1")
		w.requireRight()
		w.put("original", "a"+suffix, "somebody else's")
		<-time.After(time.Minute) // in virtual time
		w.remove("a")
		<-time.After(time.Minute)
		kept, err := w.maps.Get(w.Context(), "a"+suffix, metav1.GetOptions{})
		require.NoError(w, err)
		require.Equal(w, "somebody else's", kept.Data["data"])
	})
}

func TestQueue_NoTwoWorkersHaveOneNameAndNoChangeIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newToy(nil, "", nil).queue
		var added, seen [5]atomic.Int64
		var holders [5]atomic.Int32
		var group, adders sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for name, open := q.get(); open; name, open = q.get() {
					i, _ := strconv.Atoi(name)
					if holders[i].Add(1) != 1 {
						t.Error("two workers have ", name)
					}
					seen[i].Store(added[i].Load())
					<-time.After(rand.N(3 * time.Millisecond)) // in virtual time
					holders[i].Add(-1)
					var err error
					if rand.N(3) == 0 {
						err = errors.New("try again")
					}
					q.done(name, err)
				}
			})
			adders.Go(func() {
				for range 200 {
					i := rand.N(5)
					added[i].Add(1)
					q.add(strconv.Itoa(i))
					<-time.After(rand.N(2 * time.Millisecond))
				}
			})
		}
		adders.Wait()
		<-time.After(time.Hour) // in virtual time: all retries
		q.shutDown()
		group.Wait()
		for i := range added {
			require.Equal(t, added[i].Load(), seen[i].Load(), "the last change of %d was seen", i)
		}
		require.Empty(t, q.failures)
	})
}

func TestBackoff_GrowsAndIsBounded(t *testing.T) {
	for failures, most := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 20: 30 * time.Second, 1000: 30 * time.Second,
	} {
		got := backoff(failures)
		require.LessOrEqual(t, got, most)
		require.GreaterOrEqual(t, got, most/2)
	}
}

func TestToy_ImportsTheStandardLibraryOnly(t *testing.T) {
	source, err := os.ReadFile("toy.go")
	require.NoError(t, err)
	_, imports, _ := strings.Cut(string(source), "\nimport (\n")
	imports, _, found := strings.Cut(imports, ")\n")
	require.True(t, found)
	require.NotContains(t, imports, ".")
}

// TestReadme_SaysWhatTheToyLacks compares the README's table with the comment of toy.go.
func TestReadme_SaysWhatTheToyLacks(t *testing.T) {
	source, err := os.ReadFile("toy.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	lacks := regexp.MustCompile(`(?m)^//\t(\w+) {2,}(\S.*)$`).FindAllStringSubmatch(string(source), -1)
	require.Len(t, lacks, 7)
	for _, row := range lacks {
		require.Contains(t, string(readme), fmt.Sprintf("| `%s` | %s |\n", row[1], row[2]))
	}
}
