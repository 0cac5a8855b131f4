package ingress

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/listwatch"
)

// memory is the reconciler's memory of one Service between two reconciles. Results are right without it, but with more
// writes and Events: after a restart all is read from the cluster again.
//
// The workqueue hands a key to one worker at a time, so an entry needs no lock
// of its own.
type memory struct {
	uid            types.UID
	asked, refused warning   // the last Warning Events about what the Service asks for, and about refused writes; forgotten once all is well
	contestedAt    time.Time // of the last Contested Event
	written        string    // resourceVersion that the last write answered with; "" once the cache has it
	writtenAt      time.Time
	rejected       versions // the input of the last 400 or 422
	rejectedAt     time.Time
	forbiddenSince time.Time // when a write first got a 403; zero if none did since all was well
	contest        contest
}

// warning is a Warning Event that was emitted.
type warning struct {
	problem invalidError
	at      time.Time
}

// versions identifies the input of one reconcile; ingress is "" for none.
type versions struct{ service, ingress string }

func versionsOf(svc *corev1.Service, ing *networkingv1.Ingress) versions {
	v := versions{service: svc.ResourceVersion}
	if ing != nil {
		v.ingress = ing.ResourceVersion
	}
	return v
}

// rest gives how long a write of this input has to wait, because the server refused it; 0 is now.
func (m *memory) rest(input versions, now time.Time) time.Duration {
	if m.rejected != input {
		return 0
	}
	return max(0, m.rejectedAt.Add(rejectedDelay).Sub(now))
}

func (m *memory) wrote(resourceVersion string, now time.Time) {
	m.written, m.writtenAt = resourceVersion, now
	m.contest.wrote(now)
}

type memories struct {
	mu    sync.Mutex // guards byKey, not the entries
	byKey map[listwatch.Key]*memory
}

// of returns the Service's entry, a fresh one if the UID has changed.
func (m *memories) of(key listwatch.Key, uid types.UID) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if entry := m.byKey[key]; entry != nil && entry.uid == uid {
		return entry
	}
	entry := &memory{uid: uid}
	m.byKey[key] = entry
	return entry
}

func (m *memories) forget(key listwatch.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byKey, key)
}
