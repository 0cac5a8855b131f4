package lens

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// asking says how to ask for ConfigMaps: with a client of ours, and with client-go's ListWatch.
var asking = map[string]func(l *Lens, s *apiservertest.Server){
	"our layers": func(l *Lens, s *apiservertest.Server) {
		AddClient(l, "configmaps", s.ConfigMaps(listwatch.Options{}))
	},
	"client-go": func(l *Lens, s *apiservertest.Server) {
		l.AddServer("configmaps", cache.NewListWatchFromClient(s.Client.CoreV1().RESTClient(), "configmaps", "", fields.Everything()))
	},
}

// readUpTo is an informer that has read up to a version, and reads no more.
type readUpTo string

func (readUpTo) HasSynced() bool                   { return true }
func (r readUpTo) LastSyncResourceVersion() string { return string(r) }

// asked tells a story with each way of asking, in virtual time.
func asked(t *testing.T, test func(t *testing.T, s *apiservertest.Server, l *Lens)) {
	for name, add := range asking {
		t.Run(name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
				l := New(Options{})
				add(l, s)
				test(t, s, l)
			})
		})
	}
}

func TestAsk_CountsTheChangesThatAnInformerLacks(t *testing.T) {
	asked(t, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		read := s.Put("a", "1").ResourceVersion
		l.AddInformer("configmaps", readUpTo(read))
		lag, err := l.Ask(t.Context(), "configmaps")
		require.NoError(t, err)
		require.Equal(t, Lag{Asked: lag.Asked, ServerVersion: read, IsComplete: true}, lag)
		require.Contains(t, l.Informers()[0].Behind(), "asked 0s ago, the server at "+read+" has no change that it has not")

		s.Put("a", "2")
		s.Put("b", "1")
		s.Delete("a")
		newest := s.Put("b", "2").ResourceVersion
		lag, err = l.Ask(t.Context(), "configmaps")
		require.NoError(t, err)
		require.Equal(t, Lag{Asked: lag.Asked, ServerVersion: newest, Changes: 4, IsComplete: true}, lag)
		require.Contains(t, l.Informers()[0].Behind(), "the server at "+newest+" has 4 changes that it has not")

		l.AddInformer("configmaps", readUpTo(newest))
		require.Zero(t, l.Informers()[0].Server, "that was said of the informer before")
	})
}

func TestAsk_AServerThatWasRestoredIsBehindTheInformer(t *testing.T) {
	asked(t, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		newest := s.Put("a", "1").ResourceVersion
		read := fmt.Sprint("1", newest) // ten times as much, and more
		l.AddInformer("configmaps", readUpTo(read))
		lag, err := l.Ask(t.Context(), "configmaps")
		require.NoError(t, err)
		require.Equal(t, Lag{Asked: lag.Asked, ServerVersion: newest, AheadAt: read}, lag)
		require.Contains(t, l.Informers()[0].Behind(),
			"the informer at "+read+" is ahead of the server at "+newest+" by 10: was the server restored from an older backup?")
	})
}

func TestAsk_ChangesOfOtherKindsAreNoLag(t *testing.T) {
	for _, bookmarks := range []bool{true, false} {
		asked(t, func(t *testing.T, s *apiservertest.Server, l *Lens) {
			l.AddInformer("configmaps", readUpTo(s.Put("a", "1").ResourceVersion))
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
			secret, err := s.Client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
			require.NoError(t, err)
			s.Faults().StopBookmarks(!bookmarks)
			lag, err := l.Ask(t.Context(), "configmaps")
			require.NoError(t, err)
			require.Equal(t, Lag{Asked: lag.Asked, ServerVersion: secret.ResourceVersion, IsComplete: bookmarks}, lag)
			require.Equal(t, !bookmarks, lag.String() == "asked 3s ago, the server at "+lag.ServerVersion+" has no change that it has not, of those told of in time")
		})
	}
}

func TestAsk_AnInformerThatHasReadAllLacksNothing(t *testing.T) {
	for name, with := range informersOf {
		t.Run(name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
				l := New(Options{})
				run, err := with(l, s.Config, func() {})
				require.NoError(t, err)
				asking["client-go"](l, s)
				_, err = l.Ask(t.Context(), "configmaps")
				require.ErrorContains(t, err, "has not listed yet")
				stop := apiservertest.Go(t, run)
				apiservertest.Pass(time.Second)
				s.Put("a", "1")
				apiservertest.Pass(time.Second) // it has read
				lag, err := l.Ask(t.Context(), "configmaps")
				require.NoError(t, err)
				require.Zero(t, lag.Changes)
				require.True(t, lag.IsComplete)
				stop()
				require.False(t, l.Informers()[0].CanAsk, "it has ended")
				_, err = l.Ask(t.Context(), "configmaps")
				require.ErrorIs(t, err, ErrCannotAsk)
			})
		})
	}
}

// reading has read up to the first of its versions when it is asked first, and so on.
type reading struct {
	readUpTo
	versions *[]string
}

func (r reading) LastSyncResourceVersion() string {
	version := (*r.versions)[0]
	*r.versions = (*r.versions)[1:]
	return version
}

func TestAsk_WhatIsReadWhileTheServerTellsIsNoLag(t *testing.T) {
	asked(t, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		versions := []string{}
		for _, value := range []string{"1", "2", "3", "4"} {
			versions = append(versions, s.Put("a", value).ResourceVersion)
		}
		l.AddInformer("configmaps", reading{versions: &[]string{versions[0], versions[0], versions[2]}})
		lag, err := l.Ask(t.Context(), "configmaps")
		require.NoError(t, err)
		require.Equal(t, 1, lag.Changes)
	})
}

func TestAsk_SaysWhyThereIsNoAnswer(t *testing.T) {
	asked(t, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		read := s.Put("a", "1").ResourceVersion
		l.AddInformer("configmaps", readUpTo(read))
		s.Put("a", "2")
		s.Put("a", "3")
		s.Faults().Compact()
		_, err := l.Ask(t.Context(), "configmaps")
		require.True(t, apierrors.IsResourceExpired(err), "%v", err)
		require.Contains(t, l.Informers()[0].Behind(), "it is not known: the server no longer has what came after "+read+", so the informer has to list again")

		s.Faults().Delay(time.Hour)
		before := time.Now()
		_, err = l.Ask(t.Context(), "configmaps")
		require.EqualError(t, err, "no answer in 10s")
		require.Equal(t, askTimeout, time.Since(before))

		s.Faults().Reset()
		l.AddInformer("configmaps", readUpTo("not a number"))
		_, err = l.Ask(t.Context(), "configmaps")
		require.Error(t, err)
	})
}

func TestHandler_AsksTheServer(t *testing.T) {
	asked(t, func(t *testing.T, s *apiservertest.Server, l *Lens) {
		l.AddInformer("configmaps", readUpTo(s.Put("a", "1").ResourceVersion))
		l.AddInformer("others", readUpTo("1"))
		s.Put("a", "2")
		post := func(query string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/debug/informers/"+query, nil)
			l.Handler().ServeHTTP(w, r)
			return w
		}
		require.Contains(t, pageOf(l, ""), `action="?ask=configmaps"`)
		require.NotContains(t, pageOf(l, ""), `action="?ask=others"`)
		require.Equal(t, http.StatusSeeOther, post("?ask=configmaps").Code)
		require.Contains(t, pageOf(l, ""), "has 1 change that it has not")
		require.Equal(t, http.StatusNotFound, post("?ask=others").Code)
		require.Equal(t, http.StatusNotFound, post("?ask=none").Code)
		require.Equal(t, http.StatusBadRequest, post("?asks=configmaps").Code)
	})
}
