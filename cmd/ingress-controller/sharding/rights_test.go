package sharding

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// A replica that lacks a right is told which, whether it is for the mode's Lease or for a member's.
func TestSharding_WithoutRightsForLeasesAReplicaSaysWhatToGrant(t *testing.T) {
	for _, verb := range []string{"get", "create", "update", "list"} {
		inBooth(t, func(b *booth) {
			b.refuse(verb)
			if verb == "list" {
				b.refuse("watch") // which would list as well
			}
			m := b.enterSharded()
			<-time.After(time.Minute)
			require.ErrorContains(t, m.Ready(), "grant get, list, watch, create, update and delete on leases", verb)
			require.Empty(t, m.Held())
			require.True(t, m.lives())
			b.server.Faults().Reset()
			<-time.After(time.Minute)
			require.NoError(t, m.Ready(), verb)
			require.Len(t, m.Held(), 8)
		})
	}
}

// A replica that waits for its turn has written nothing yet. It learns what it lacks before its turn has come: an
// update ends the last old replica when the new ones are ready.
func TestSharding_AReplicaThatWaitsLearnsWhichRightsItLacks(t *testing.T) {
	for _, verb := range []string{"create", "update", "delete"} {
		inBooth(t, func(b *booth) {
			leader := b.enter()
			first := b.enterSharded()
			<-time.After(61 * time.Second) // the leader renews at 60 and 62, and can go without that for ten
			require.True(t, apierrors.IsConflict(first.Ready()))
			require.ErrorContains(t, first.Ready(), `held by "`+b.holder()+`"`)
			b.refuse(verb)
			second := b.enterSharded()
			for range 100 {
				<-time.After(10 * time.Millisecond)
				require.False(t, second.waits(), "it is not known that it may work")
			}
			require.ErrorContains(t, second.Ready(), "grant get, list, watch, create, update and delete on leases", verb)
			<-time.After(7 * time.Second)
			for _, m := range []*member{first, second} {
				require.True(t, apierrors.IsForbidden(m.Ready()), "%s: %v", verb, m.Ready())
				require.False(t, m.waits())
			}
			b.server.Faults().Reset()
			<-time.After(10 * time.Second)
			for _, m := range []*member{first, second} {
				require.True(t, apierrors.IsConflict(m.Ready()), "%s: %v", verb, m.Ready())
				require.True(t, m.waits())
			}
			require.True(t, leader.working.Load())
		})
	}
}

// No answer is no right.
func TestSharding_AReplicaThatWaitsIsNotReadyWhileItsRightsAreNotKnown(t *testing.T) {
	inBooth(t, func(b *booth) {
		b.enter()
		<-time.After(time.Minute)
		b.server.Faults().FailNext(-1, apiserver.Failure{Verb: "delete", Resource: "leases", Code: http.StatusTooManyRequests})
		m := b.enterSharded()
		for range 100 {
			<-time.After(100 * time.Millisecond)
			require.False(t, m.waits())
		}
		require.True(t, apierrors.IsTooManyRequests(m.Ready()), m.Ready())
		b.server.Faults().Reset()
		<-time.After(5 * time.Second)
		require.True(t, m.waits())
	})
}

// What asks for the rights changes nothing, even at a server that carries out what ought to be a dry run.
func TestMode_WhatAsksForTheRightsChangesNothing(t *testing.T) {
	inBooth(t, func(b *booth) {
		require.NoError(t, b.mode("leader", plain).hold(context.Background()))
		var mu sync.Mutex
		var asked []string // guarded by mu
		m := b.mode("shards", func(next http.RoundTripper) http.RoundTripper {
			return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				if req.URL.Query().Get("dryRun") == "All" {
					req.URL.RawQuery = ""
					asked = append(asked, req.Method)
				}
				if req.Method == http.MethodDelete {
					body, err := io.ReadAll(req.Body)
					require.NoError(t, err)
					without := strings.Replace(string(body), "*\x03All", "z\x03All", 1) // to a field that there is not
					require.NotEqual(t, string(body), without)
					req.Body = io.NopCloser(strings.NewReader(without))
					asked = append(asked, req.Method)
				}
				return next.RoundTrip(req)
			})
		})
		member := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: program + "-member-a"}}
		_, err := m.Leases("default").Create(context.Background(), member, metav1.CreateOptions{})
		require.NoError(t, err) // it is nobody's, so it needs no mode
		list := func() []coordinationv1.Lease {
			all, err := m.client.Leases("default").List(context.Background(), metav1.ListOptions{})
			require.NoError(t, err)
			return all.Items
		}
		before := list()
		require.Len(t, before, 2)
		for _, name := range []string{"a", "b"} { // one that is there, and one that is not
			member := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: program + "-member-" + name}}
			member.Spec.HolderIdentity = ptr.To(name + "/8/1")
			_, err := m.Leases("default").Create(context.Background(), member, metav1.CreateOptions{})
			require.True(t, apierrors.IsConflict(err))
			<-time.After(10 * time.Second)
		}
		require.Equal(t, before, list())
		require.ElementsMatch(t, []string{"POST", "PUT", "DELETE", "POST", "PUT", "DELETE"}, asked)
	})
}

func (b *booth) refuse(verb string) {
	b.server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "leases", Code: http.StatusForbidden})
}
