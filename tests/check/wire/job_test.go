package wire

import (
	"strings"

	"github.com/stretchr/testify/require"
)

// task is a Job as short as it can be, for replacements.
const task = "{metadata: {name: task}, spec: {template: {metadata: {}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}"

// makeTask creates the task with some things changed.
func makeTask(t T, s *server, changes ...string) *response {
	body := strings.NewReplacer(changes...).Replace(task)
	return s.post(s.path("jobs"), body).want(201)
}

// jobLabels are the labels of a Job or of its Pods.
func jobLabels(made *response, path ...string) map[string]any {
	labels, _ := made.at(append(path, "metadata", "labels")...).(map[string]any)
	return labels
}

// selecting are the labels by which a Job finds its Pods, and some more.
func selecting(made *response, more ...string) map[string]any {
	labels := map[string]any{"batch.kubernetes.io/job-name": made.meta().Name, "job-name": made.meta().Name,
		"batch.kubernetes.io/controller-uid": string(made.meta().UID), "controller-uid": string(made.meta().UID)}
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

var jobs = group("job", []check{
	{name: "one without labels has those of its Pods", run: func(t T, s *server) {
		for name, change := range map[string][]string{
			"a": {"name: task", "name: a"},
			"b": {"name: task", "name: b", "template: {metadata: {}", "template: {metadata: {labels: {}}"},
			"c": {"name: task", "name: c", "template: {metadata: {}", "template: {metadata: {labels: {app: x}}"},
		} {
			made := makeTask(t, s, change...)
			want := selecting(made)
			if name == "c" {
				want["app"] = "x"
			}
			require.Equal(t, want, jobLabels(made, "spec", "template"), name)
			require.Equal(t, want, jobLabels(made), name)
			require.Equal(t, want, jobLabels(s.get(s.path("jobs", name)).want(200)), name)
		}
	}},
	{name: "one with labels keeps them, also if they are those of its Pods", run: func(t T, s *server) {
		for name, own := range map[string]string{"a": "{app: x}", "b": "{other: z}"} {
			made := makeTask(t, s, "name: task", "name: "+name+", labels: "+own, "template: {metadata: {}", "template: {metadata: {labels: {app: x}}")
			require.Equal(t, selecting(made, "app", "x"), jobLabels(made, "spec", "template"))
			require.Len(t, jobLabels(made), 1)
		}
	}},
	{name: "of one with a generated name the labels are those that were sent", run: func(t T, s *server) {
		made := makeTask(t, s, "name: task", "generateName: task-", "template: {metadata: {}", "template: {metadata: {labels: {app: x}}")
		require.Equal(t, selecting(made, "app", "x"), jobLabels(made, "spec", "template"))
		require.Equal(t, map[string]any{"app": "x"}, jobLabels(made))
		made = makeTask(t, s, "name: task", "generateName: task-")
		require.Equal(t, selecting(made), jobLabels(made))
	}},
	{name: "labels that are taken off come back", run: func(t T, s *server) {
		made := makeTask(t, s, "name: task", "name: task, labels: {other: z}")
		patched := s.patch(s.path("jobs", "task"), mergePatch, "metadata: {labels: null}").want(200)
		require.Equal(t, selecting(made), jobLabels(patched))
	}},
	{name: "with a selector of its own it has the labels that were sent", run: func(t T, s *server) {
		made := makeTask(t, s, "spec: {", "spec: {manualSelector: true, selector: {matchLabels: {app: x}}, ",
			"template: {metadata: {}", "template: {metadata: {labels: {app: x}}")
		require.Equal(t, map[string]any{"app": "x"}, jobLabels(made, "spec", "template"))
		require.Equal(t, map[string]any{"app": "x"}, jobLabels(made))
	}},
	{name: "defaults depend on other fields", run: func(t T, s *server) {
		made := makeTask(t, s)
		require.Equal(t, "TerminatingOrFailed", made.at("spec", "podReplacementPolicy"))
		require.EqualValues(t, 6, made.at("spec", "backoffLimit"))
		made = makeTask(t, s, "name: task", "name: other", "spec: {", "spec: {completionMode: Indexed, completions: 2, backoffLimitPerIndex: 1, "+
			"podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}, ")
		require.Equal(t, "Failed", made.at("spec", "podReplacementPolicy"))
		require.EqualValues(t, 1<<31-1, made.at("spec", "backoffLimit"))
		condition := made.at("spec", "podFailurePolicy", "rules").([]any)[0].(map[string]any)["onPodConditions"].([]any)[0]
		require.Equal(t, map[string]any{"type": "DisruptionTarget", "status": "True"}, condition)
	}},
})
