package sharedinformer

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"glasswatch/deltafifo"
)

// Each case of tellStored, tellDeleted and causeOf.
func TestStoreWriter_SaysWhatHandlersAreToBeTold(t *testing.T) {
	type note = notification[*corev1.ConfigMap]
	a1, a2 := configMap("a", "1"), configMap("a", "2")
	rows := []struct {
		name    string
		there   bool // a@1 is in the store
		typ     deltafifo.DeltaType
		obj     *corev1.ConfigMap
		unknown bool
		want    []note
	}{
		{name: "the deletion of what nobody knew", typ: deltafifo.Deleted, obj: a1},
		{name: "a first version", typ: deltafifo.Added, obj: a1, want: []note{{kind: added, obj: a1}}},
		{name: "an update of what nobody knew", typ: deltafifo.Updated, obj: a2, want: []note{{kind: added, obj: a2}}},
		{name: "a second version", there: true, typ: deltafifo.Updated, obj: a2, want: []note{{kind: updated, old: a1, obj: a2, cause: changed}}},
		{name: "a version again", there: true, typ: deltafifo.Updated, obj: a1, want: []note{{kind: updated, old: a1, obj: a1, cause: repeated}}},
		{name: "a list's version again", there: true, typ: deltafifo.Replaced, obj: a1, want: []note{{kind: updated, old: a1, obj: a1, cause: repeated}}},
		{name: "a resync", there: true, typ: deltafifo.Sync, obj: a1, want: []note{{kind: updated, old: a1, obj: a1, cause: resynced}}},
		{name: "a deletion", there: true, typ: deltafifo.Deleted, obj: a2, want: []note{{kind: deleted, old: a1, obj: a2}}},
		{name: "a tombstone", there: true, typ: deltafifo.Deleted, obj: a1, unknown: true, want: []note{{kind: deleted, old: a1, obj: a1, unknownState: true}}},
		{name: "a deletion without an object", there: true, typ: deltafifo.Deleted, want: []note{{kind: deleted, old: a1, obj: a1, unknownState: true}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			opts := Options[*corev1.ConfigMap]{Queue: PerKey}
			store := newStore(opts.Indexers, nil)
			if row.there {
				require.NoError(t, store.Add(a1))
			}
			w := newStoreWriter(opts, store)
			d := delta[*corev1.ConfigMap]{Type: row.typ, Key: key{Namespace: "ns", Name: "a"}, Obj: row.obj, Missing: row.obj == nil, FinalStateUnknown: row.unknown}
			w.apply([]delta[*corev1.ConfigMap]{d}, false)
			require.Equal(t, row.want, w.notes)
		})
	}
}
