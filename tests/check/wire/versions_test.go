package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defineTwo defines a resource with the versions v1 and v2, and waits till both are served. first and second are the
// properties of their specs, stored is the version that objects are stored in.
func (s *server) defineTwo(first, second, stored string) definition {
	s.t.Helper()
	d := s.definition()
	s.post(definitions, d.bodyOfTwo(first, second, stored)).want(201)
	s.t.Cleanup(func() { s.delete(d.self(), "") })
	s.eventually("both are served", func() bool {
		return s.get(d.path(s.ns)).code == 200 && s.get(inSecond(d.path(s.ns))).code == 200
	})
	return d
}

// redefineTwo changes the versions.
func (s *server) redefineTwo(d definition, first, second, stored string) {
	s.t.Helper()
	_, versions, _ := strings.Cut(d.bodyOfTwo(first, second, stored), "  versions:")
	s.patch(d.self(), mergePatch, "spec:\n  versions:"+versions).want(200)
}

func (d definition) bodyOfTwo(first, second, stored string) string {
	version := func(name, properties string) string {
		const format = `
  - name: %s
    served: true
    storage: %v
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}}, status: {type: object, properties: {%[3]s}}}}}`
		return fmt.Sprintf(format, name, name == stored, properties)
	}
	head, _, _ := strings.Cut(d.body("", ""), "  versions:")
	return head + "  versions:" + version("v1", first) + version("v2", second)
}

// inSecond is a path, or an object, in v2.
func inSecond(inFirst string) string {
	return strings.NewReplacer("/v1/", "/v2/", "/v1,", "/v2,").Replace(inFirst)
}

const (
	size      = "size: {type: integer}"
	sizeShape = size + ", shape: {type: string}"
)

var versionsGroup = group("versions", []check{
	{name: "objects are served in every version that is", run: func(t T, s *server) {
		d := s.defineTwo(size, size, "v1")
		made := s.post(d.path(s.ns), d.object("a", "size: 1")).want(201)
		second := inSecond(d.path(s.ns))
		got := s.get(second + "/a").want(200)
		require.Equal(t, d.group+"/v2", got.meta().APIVersion)
		require.Equal(t, made.version(), got.version())
		require.Equal(t, made.at("spec"), got.at("spec"))
		w := s.watch(second)
		require.Equal(t, d.group+"/v2", w.expect("ADDED a").meta(t).APIVersion)
	}},
	{name: "an object has the fields of the version that is asked for", run: func(t T, s *server) {
		d := s.defineTwo(size, sizeShape, "v2")
		first := d.path(s.ns)
		w := s.watch(first)
		made := s.post(inSecond(first), inSecond(d.object("a", "size: 1, shape: round"))).want(201)
		require.Equal(t, map[string]any{"size": 1.0, "shape": "round"}, made.at("spec"))
		require.Equal(t, map[string]any{"size": 1.0}, s.get(first+"/a").want(200).at("spec"))
		items := s.get(first).want(200).at("items").([]any)
		require.Equal(t, map[string]any{"size": 1.0}, items[0].(map[string]any)["spec"])
		require.NotContains(t, string(w.expect("ADDED a").Object), "round")
	}},
	{name: "what the stored version lacks is lost at once", run: func(t T, s *server) {
		d := s.defineTwo(sizeShape, size, "v2")
		made := s.post(d.path(s.ns), d.object("a", "size: 1, shape: round")).want(201)
		require.Equal(t, map[string]any{"size": 1.0}, made.at("spec"))
		require.Empty(t, made.warnings(), "v1 has it")
		require.Equal(t, map[string]any{"size": 1.0}, s.get(d.path(s.ns, "a")).want(200).at("spec"))
	}},
	{name: "a write drops what its version lacks, even if it changes nothing else", run: func(t T, s *server) {
		d := s.defineTwo(size, sizeShape, "v2")
		first := d.path(s.ns, "a")
		second := inSecond(first)
		for name, write := range map[string]func() *response{
			"a patch":           func() *response { return s.patch(first, mergePatch, "{}") },
			"a patch of status": func() *response { return s.patch(first+"/status", mergePatch, "{}") },
			"an update":         func() *response { return s.put(first, string(s.get(first).body)) },
			"an apply": func() *response {
				return s.patch(first+"?fieldManager=applier", applyPatch, d.object("a", "size: 1"))
			},
		} {
			made := s.post(inSecond(d.path(s.ns)), inSecond(d.object("a", "size: 1, shape: round"))).want(201)
			written := write().want(200)
			require.Equal(t, map[string]any{"size": 1.0}, written.at("spec"), name)
			require.NotEqual(t, made.version(), written.version(), name)
			require.EqualValues(t, 1, written.meta().Generation, name)
			got := s.get(second).want(200)
			require.Equal(t, map[string]any{"size": 1.0}, got.at("spec"), name)
			require.Equal(t, written.version(), got.version(), name)
			s.delete(first, "").want(200)
		}
	}},
	{name: "a deletion that waits drops what its version lacks", run: func(t T, s *server) {
		d := s.defineTwo(size, sizeShape, "v2")
		held := strings.Replace(inSecond(d.object("a", "size: 1, shape: round")), "name: a", "name: a, finalizers: [example.com/hold]", 1)
		s.post(inSecond(d.path(s.ns)), held).want(201)
		require.Equal(t, map[string]any{"size": 1.0}, s.delete(d.path(s.ns, "a"), "").want(200).at("spec"))
		require.Equal(t, map[string]any{"size": 1.0}, s.get(inSecond(d.path(s.ns, "a"))).want(200).at("spec"))
		s.patch(d.path(s.ns, "a"), mergePatch, "metadata: {finalizers: null}").want(200)
	}},
	{name: "managers of another version are known to an apply", run: func(t T, s *server) {
		d := s.defineTwo(size, sizeShape, "v2")
		first := d.path(s.ns, "a")
		s.patch(inSecond(first)+"?fieldManager=maker", applyPatch, inSecond(d.object("a", "size: 1, shape: round"))).want(201)
		status := s.patch(first+"?fieldManager=applier", applyPatch, d.object("a", "size: 2")).fails(409, metav1.StatusReasonConflict,
			`Apply failed with 1 conflict: conflict with "maker": .spec.size`)
		require.Equal(t, ".spec.size", status.Details.Causes[0].Field)
		forced := s.patch(first+"?fieldManager=applier&force=true", applyPatch, d.object("a", "size: 2")).want(200)
		require.Equal(t, map[string]any{"size": 2.0}, forced.at("spec"))
		require.Equal(t, []string{
			`applier Apply ` + d.group + `/v1 {"f:spec":{"f:size":{}}}`,
			`maker Apply ` + d.group + `/v2 {"f:spec":{"f:shape":{}}}`,
		}, managersOf(forced))
	}},
	{name: "what was stored in another version is read by the schema of that one first", run: func(t T, s *server) {
		d := s.defineTwo(sizeShape, size, "v1")
		first := d.path(s.ns, "a")
		s.post(d.path(s.ns), d.object("a", "size: 1, shape: round")).want(201)
		s.redefineTwo(d, size+", tone: {type: string, default: low}",
			sizeShape+", tone: {type: string}, grain: {type: string, default: fine}", "v2")
		s.eventually("the schemas have changed", func() bool {
			return s.post(inSecond(d.path(s.ns))+"?dryRun=All", inSecond(d.object("b", "size: 1"))).at("spec", "grain") == "fine"
		})
		require.Equal(t, map[string]any{"size": 1.0, "tone": "low"}, s.get(first).want(200).at("spec"), "v1 has no shape now, and a default")
		require.Equal(t, map[string]any{"size": 1.0, "tone": "low"}, s.get(inSecond(first)).want(200).at("spec"), "v1's default, not v2's")
		before := s.get(inSecond(first))
		written := s.patch(inSecond(first), mergePatch, "{}").want(200)
		require.Equal(t, map[string]any{"size": 1.0, "tone": "low", "grain": "fine"}, written.at("spec"))
		require.NotEqual(t, before.version(), written.version())
	}},
})

// managersOf are the managedFields of an object, by name. A server orders them by the second in which each was written.
func managersOf(r *response) (managers []string) {
	for _, entry := range r.meta().ManagedFields {
		managers = append(managers, fmt.Sprintf("%s %s %s %s", entry.Manager, entry.Operation, entry.APIVersion, entry.FieldsV1))
	}
	slices.Sort(managers)
	return managers
}
