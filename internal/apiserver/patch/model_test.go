package patch_test

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"glasswatch/internal/apiserver/patch"
)

// A ConfigMap's data is a map: merging it is simple enough to say in four lines what must come out.
func TestPatch_MergesAgreeWithADumbModel(t *testing.T) {
	p := builtin(t, "ConfigMap", "")
	rapid.Check(t, func(t *rapid.T) {
		key, value := rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"})
		model := map[string]string{}
		live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "shop", UID: "1"}}
		for range rapid.IntRange(1, 6).Draw(t, "patches") {
			change := rapid.MapOf(key, rapid.Ptr(value, true)).Draw(t, "change")
			for k, v := range change {
				if delete(model, k); v != nil {
					model[k] = *v
				}
			}
			body, err := json.Marshal(map[string]any{"data": change})
			require.NoError(t, err)
			patchType := rapid.SampledFrom([]types.PatchType{types.MergePatchType, types.StrategicMergePatchType}).Draw(t, "type")
			req := request(patchType, string(body))
			before := live.DeepCopy()
			out, warnings, err := p.Patch(live, req)
			require.NoError(t, err)
			require.Empty(t, warnings)
			require.Equal(t, before, live, "the current object stays")
			live = out.(*corev1.ConfigMap)
			require.Truef(t, maps.Equal(model, live.Data), "%v is not %v", live.Data, model)
		}
	})
}

// Each manager applies keys of its own, so there are no conflicts: the object has what each manager applied last.
func TestPatch_ApplyAgreesWithADumbModel(t *testing.T) {
	p := builtin(t, "ConfigMap", "")
	rapid.Check(t, func(t *rapid.T) {
		applied := map[string]map[string]string{}
		var live *corev1.ConfigMap
		for range rapid.IntRange(1, 6).Draw(t, "applies") {
			manager := rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "manager")
			applied[manager] = rapid.MapOfN(rapid.SampledFrom([]string{manager + "1", manager + "2"}), rapid.SampledFrom([]string{"x", "y"}), 1, 2).Draw(t, "data")
			body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}, "data": applied[manager]})
			require.NoError(t, err)
			req := request(types.ApplyYAMLPatchType, string(body))
			req.FieldManager = manager
			var current *corev1.ConfigMap
			if live != nil {
				current = live.DeepCopy()
			}
			out, _, err := patchOrCreate(p, current, req)
			require.NoError(t, err)
			live = out.(*corev1.ConfigMap)
			live.UID = "1"

			want := map[string]string{}
			for _, data := range applied {
				maps.Copy(want, data)
			}
			require.Truef(t, maps.Equal(want, live.Data), "%v is not %v", live.Data, want)
		}
	})
}

// Whatever a client sends, the answer is an object or a status.
func FuzzPatch_NeverPanicsAndAnswersWithAStatus(f *testing.F) {
	for _, body := range []string{`{}`, `[]`, `null`, `7`, `[{"op":"add","path":"/a","value":{}}]`, `[{"op":"move","from":"/spec","path":"/spec/x"}]`,
		`{"spec":{"ports":[{"$patch":"replace"}]}}`, `{"spec":{"$retainKeys":[1]}}`, `{"spec":{"$setElementOrder/ports":7}}`,
		`{"metadata":{"managedFields":[{"fieldsV1":7}]}}`, "apiVersion: v1\nkind: Service\nspec: {ports: [{}, {}]}", "a: &a [*a]"} {
		for kind := range uint8(4) {
			f.Add(kind, body)
		}
	}
	p := builtin(f, "Service", "")
	f.Fuzz(func(t *testing.T, kind uint8, body string) {
		all := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
		req := request(all[int(kind)%len(all)], body)
		req.Name, req.FieldManager = "web", "fuzz"
		obj, _, err := p.Patch(webService(), req)
		var status *apierrors.StatusError
		if err != nil && !errors.As(err, &status) {
			t.Fatalf("%T: %v", err, err)
		}
		if err == nil && obj.(*corev1.Service).Name != "web" {
			t.Fatalf("renamed to %q", obj.(*corev1.Service).Name)
		}
	})
}

func request(patchType types.PatchType, body string) patch.Request {
	return patch.Request{Type: patchType, Body: []byte(body), Namespace: "shop"}
}

// patchOrCreate keeps a nil *ConfigMap from becoming an object that is not nil.
func patchOrCreate(p *patch.Patcher, current *corev1.ConfigMap, req patch.Request) (runtime.Object, []string, error) {
	if current == nil {
		return p.Patch(nil, req)
	}
	return p.Patch(current, req)
}
