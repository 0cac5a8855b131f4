package wire

import (
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// changed is a body with one thing changed.
func changed(t T, body, was, is string) string {
	require.Contains(t, body, was)
	return strings.Replace(body, was, is, 1)
}

var fixedGroup = group("fixed", []check{
	{name: "a selector that matches Pods stays", run: func(t T, s *server) {
		for resource, kind := range map[string]string{"deployments": "Deployment", "replicasets": "ReplicaSet", "daemonsets": "DaemonSet"} {
			body := changed(t, deployment, "replicas: 0, ", "")
			s.post(s.path(resource), body).want(201)
			s.put(s.path(resource, "a"), strings.ReplaceAll(body, "a: b", "a: c")).fails(422, metav1.StatusReasonInvalid,
				kind+`.apps "a" is invalid: spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`)
		}
		controller := "{metadata: {name: a}, spec: {selector: {a: b}, " + template + "}}"
		s.post(s.path("replicationcontrollers"), controller).want(201)
		s.put(s.path("replicationcontrollers", "a"), strings.ReplaceAll(controller, "a: b", "a: c")).want(200)
	}},
	{name: "a Job keeps what it counts and makes", run: func(t T, s *server) {
		s.post(s.path("jobs"), job).want(201)
		for patch, message := range map[string]string{
			"completions: 2":                         "spec.completions: Invalid value: 2: field is immutable",
			"selector: {matchLabels: {x: z}}":        "…",
			"completionMode: Indexed":                `spec.completionMode: Invalid value: "Indexed": field is immutable`,
			"backoffLimitPerIndex: 1":                "…",
			"managedBy: x.org/z":                     `spec.managedBy: Invalid value: "x.org/z": field is immutable`,
			"template: {spec: {nodeName: z}}":        "spec.template: Invalid value: …",
			"template: {metadata: {labels: {x: z}}}": "spec.template: Invalid value: …",
		} {
			s.patch(s.path("jobs", "a"), mergePatch, "spec: {"+patch+"}").fails(422, metav1.StatusReasonInvalid, `Job.batch "a" is invalid: `+message)
		}
		s.patch(s.path("jobs", "a"), mergePatch, "spec: {parallelism: 2, suspend: true, backoffLimit: 1, activeDeadlineSeconds: 5}").want(200)
	}},
	{name: "a suspended Job may yet be put elsewhere", run: func(t T, s *server) {
		s.post(s.path("jobs"), changed(t, job, "spec: {template", "spec: {suspend: true, template")).want(201)
		s.patch(s.path("jobs", "a"), mergePatch, "spec: {template: {metadata: {annotations: {x: z}}, spec: {nodeSelector: {x: z}, tolerations: [{key: x}], "+
			"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: x, operator: Exists}]}]}}}, "+
			"containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}}}").want(200)
		s.patch(s.path("jobs", "a"), mergePatch, "spec: {template: {spec: {affinity: null}}}").want(200)
		s.patch(s.path("jobs", "a"), mergePatch, "spec: {template: {spec: {containers: [{name: c, image: j}]}}}").fails(422, metav1.StatusReasonInvalid,
			`Job.batch "a" is invalid: spec.template…`)
		s.post(s.path("jobs"), changed(t, changed(t, job, "spec: {template", "spec: {completionMode: Indexed, completions: 2, parallelism: 2, template"), "name: a", "name: b")).want(201)
		s.patch(s.path("jobs", "b"), mergePatch, "spec: {completions: 3, parallelism: 3}").want(200)
		s.patch(s.path("jobs", "b"), mergePatch, "spec: {completions: 4}").want(422)
	}},
	{name: "a binding keeps its role", run: func(t T, s *server) {
		s.post(s.path("rolebindings"), "{metadata: {name: a}, roleRef: {kind: Role, name: a, apiGroup: rbac.authorization.k8s.io}}").want(201)
		s.patch(s.path("rolebindings", "a"), mergePatch, "roleRef: {name: b}").fails(422, metav1.StatusReasonInvalid,
			`RoleBinding.rbac.authorization.k8s.io "a" is invalid: roleRef: Invalid value: …`)
		s.patch(s.path("rolebindings", "a"), mergePatch, "subjects: [{kind: User, name: u}]").want(200)
	}},
	{name: "a claim is bound once, and grows then", run: func(t T, s *server) {
		const claim = "{metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}"
		const fixed = `PersistentVolumeClaim "a" is invalid: spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims` + "\n…"
		s.post(s.path("persistentvolumeclaims"), claim).want(201)
		path := s.path("persistentvolumeclaims", "a")
		s.patch(path, mergePatch, "spec: {accessModes: [ReadWriteMany]}").fails(422, metav1.StatusReasonInvalid, fixed)
		s.patch(path, mergePatch, "spec: {resources: {requests: {storage: 3Gi}}}").fails(422, metav1.StatusReasonInvalid, fixed)
		s.patch(path, mergePatch, "spec: {volumeName: v}").want(200)
		s.patch(path, mergePatch, "spec: {volumeName: w}").fails(422, metav1.StatusReasonInvalid, fixed)
		s.patch(path+"/status", mergePatch, "status: {phase: Bound, capacity: {storage: 2Gi}}").want(200)
		s.patch(path, mergePatch, "spec: {resources: {requests: {storage: 1Gi}}}").fails(422, metav1.StatusReasonInvalid,
			`PersistentVolumeClaim "a" is invalid: spec.resources.requests.storage: Forbidden: field can not be less than status.capacity`)
	}},
	{name: "a Pod's spec can hardly change", run: func(t T, s *server) {
		s.post(s.path("pods"), "{metadata: {name: a}, spec: {tolerations: [{key: x, operator: Exists, tolerationSeconds: 5, effect: NoExecute}], activeDeadlineSeconds: 9, containers: [{name: c, image: i}]}}").want(201)
		const no = `Pod "a" is invalid: spec: Forbidden: pod updates may not change fields other than ` + "`spec.containers[*].image`,`spec.initContainers[*].image`," +
			"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
			"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n…"
		for patch, message := range map[string]string{
			"serviceAccountName: s":                                  no,
			"containers: [{name: c, image: i, args: [x]}]":           no,
			"terminationGracePeriodSeconds: 1":                       no,
			"containers: [{name: c, image: i}, {name: d, image: i}]": `Pod "a" is invalid: spec.containers: Forbidden: pod updates may not add or remove containers`,
			"activeDeadlineSeconds: 10":                              `Pod "a" is invalid: spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value`,
			"activeDeadlineSeconds: null":                            `Pod "a" is invalid: spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value`,
			"tolerations: []":                                        `Pod "a" is invalid: spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds`,
			"containers: [{name: c, image: 'i '}]":                   `Pod "a" is invalid: …`,
		} {
			s.patch(s.path("pods", "a"), mergePatch, "spec: {"+patch+"}").fails(422, metav1.StatusReasonInvalid, message)
		}
		s.patch(s.path("pods", "a"), strategicPatch, "spec: {activeDeadlineSeconds: 8, containers: [{name: c, image: j}], "+
			"tolerations: [{key: x, operator: Exists, tolerationSeconds: 7, effect: NoExecute}, {key: z, operator: Exists}]}").want(200)
	}},
})

var templates = group("templates", []check{
	{name: "a workload is a template of Pods that can run for ever", run: func(t T, s *server) {
		for resource, kind := range map[string]string{"deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"} {
			refused := func(was, is, message string) {
				body := changed(t, changed(t, deployment, "replicas: 0, ", ""), was, is)
				s.post(s.path(resource), body).fails(422, metav1.StatusReasonInvalid, kind+`.apps "a" is invalid: `+message)
			}
			const c = "containers: [{name: c, image: i}]"
			refused("labels: {a: b}", "labels: {a: c}", `spec.template.metadata.labels: Invalid value: {"a":"c"}: `+"`selector` does not match template `labels`")
			refused(c, "containers: []", "spec.template.spec.containers: Required value")
			refused(c, "restartPolicy: Never, "+c, `spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`)
			refused("image: i", "image: ''", "spec.template.spec.containers[0].image: Required value")
			if resource != "daemonsets" {
				refused("spec: {selector", "spec: {replicas: -1, selector", "spec.replicas: Invalid value: -1: must be greater than or equal to 0")
			}
		}
	}},
	{name: "a Job's Pods end", run: func(t T, s *server) {
		refused := func(was, is, message string) {
			s.post(s.path("jobs"), changed(t, job, was, is)).fails(422, metav1.StatusReasonInvalid, `Job.batch "a" is invalid: `+message)
		}
		const required = `spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`
		refused("restartPolicy: Never, ", "", required)
		refused("restartPolicy: Never, ", "restartPolicy: Always, ", required)
		refused("{name: c, image: i}", "", "spec.template.spec.containers: Required value")
		refused("spec: {template", "spec: {parallelism: -1, completions: -1, template", "[spec.parallelism: Invalid value: -1: must be greater than or equal to 0, "+
			"spec.completions: Invalid value: -1: must be greater than or equal to 0]")
		cron := "{metadata: {name: a}, spec: {schedule: '* * * * *', jobTemplate: {spec: {" + template + "}}}}"
		s.post(s.path("cronjobs"), cron).fails(422, metav1.StatusReasonInvalid, `CronJob.batch "a" is invalid: spec.jobTemplate.`+required)
	}},
	{name: "containers have names of their own and mount volumes that are there", run: func(t T, s *server) {
		for spec, message := range map[string]string{
			"containers: []": "spec.containers: Required value",
			"containers: [{name: c, image: i}, {name: c, image: i}]":                             `spec.containers[1].name: Duplicate value: "c"`,
			"containers: [{name: c, image: i}], initContainers: [{name: c, image: i}]":           `spec.initContainers[0].name: Duplicate value: "c"`,
			"containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /v}]}]":        `spec.containers[0].volumeMounts[0].name: Not found: "v"`,
			"containers: [{name: c, image: i, volumeMounts: [{name: v}]}], volumes: [{name: v}]": "spec.containers[0].volumeMounts[0].mountPath: Required value",
			"containers: [{name: c, image: i}], volumes: [{name: v}, {name: v}]":                 `spec.volumes[1].name: Duplicate value: "v"`,
			"containers: [{name: c, image: ' i'}]":                                               `spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace`,
		} {
			s.post(s.path("pods"), "{metadata: {name: a}, spec: {"+spec+"}}").fails(422, metav1.StatusReasonInvalid, `Pod "a" is invalid: `+message)
		}
		s.post(s.path("statefulsets"), altered(t, "image: 'mariadb:11'", "image: i, volumeMounts: [{name: datadir, mountPath: /d}]")).want(201)
	}},
})
