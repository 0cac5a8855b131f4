package ingress

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/listwatch"
)

// memory is what the reconciler remembers of one Service between two looks at
// it. None of it is needed for a right result, only for a quiet one: after a
// restart everything is found out again from the cluster.
//
// The workqueue hands a key to one worker at a time, so an entry needs no lock
// of its own.
type memory struct {
	uid       types.UID
	warned    invalidError // the last Warning Event about bad input
	contested bool         // the Contested Event is out
	written   string       // resourceVersion that the last write answered with; "" once the cache has it
	writtenAt time.Time
	rejected  versions // what a 400 or 422 was given for; rests till one of the two changes
	contest   contest
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

func (m *memory) wrote(resourceVersion string, now time.Time) {
	m.written, m.writtenAt = resourceVersion, now
	m.contest.wrote(now)
}

type memories struct {
	mu    sync.Mutex // guards byKey, not the entries
	byKey map[listwatch.Key]*memory
}

// of gives the entry of the Service, a fresh one when the UID is another than before.
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
