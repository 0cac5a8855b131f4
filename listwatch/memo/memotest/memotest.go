// Package memotest makes objects for tests and benchmarks that are alike in the way that objects of a cluster are.
package memotest

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Templates and Nodes are how many deployments the pods are of, and how many nodes they are on.
const (
	Templates = 50
	Nodes     = 100
)

// Pod returns the n-th pod: of one of the Templates, running, and as a ReplicaSet controller, the scheduler and a kubelet leave it
// behind. Nothing of it is shared with another.
func Pod(n int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metadata(n), Spec: spec(n), Status: status(n)}
}

func app(n int) string { return fmt.Sprintf("app-%d", n%Templates) }

// suffix is n in five letters, in no order.
func suffix(n int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var s [5]byte
	x := uint64(n+1) * 0x9E3779B97F4A7C15
	for i := range s {
		s[i] = letters[x%uint64(len(letters))]
		x /= uint64(len(letters))
	}
	return string(s[:])
}

func at(n, seconds int) metav1.Time {
	return metav1.NewTime(time.Unix(1_700_000_000+int64(n)*3+int64(seconds), 0))
}

func metadata(n int) metav1.ObjectMeta {
	hash := fmt.Sprintf("7d4b9c%04d", n%Templates)
	owner := fmt.Sprintf("%s-%s", app(n), hash)
	ownerUID := types.UID(fmt.Sprintf("11111111-0000-4000-8000-%012d", n%Templates))
	return metav1.ObjectMeta{
		Name: owner + "-" + suffix(n), GenerateName: owner + "-", Namespace: fmt.Sprintf("team-%d", n%Templates%10),
		UID: types.UID(fmt.Sprintf("22222222-0000-4000-8000-%012d", n)), ResourceVersion: fmt.Sprint(1_000_000 + 7*n),
		Generation: 1, CreationTimestamp: at(n, 0),
		Labels: map[string]string{
			"app": app(n), "pod-template-hash": hash, "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/version": "1.2.3",
		},
		Annotations: map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": strings.Repeat(hash, 6)},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: ownerUID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}},
		ManagedFields: []metav1.ManagedFieldsEntry{
			managed("kube-controller-manager", "", at(n, 0), controllerFields(string(ownerUID))),
			managed("kube-scheduler", "status", at(n, 1), schedulerFields),
			managed("kubelet", "status", at(n, 3), kubeletFields(podIP(n))),
		},
	}
}

func managed(by, subresource string, when metav1.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: by, Operation: "Update", APIVersion: "v1", Time: &when, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
	}
}

const schedulerFields = `{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"PodScheduled\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}}}}`

func controllerFields(owner string) string {
	container := `".":{},"f:env":{".":{},"k:{\"name\":\"SETTING_0\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"SETTING_1\"}":{".":{},"f:name":{},"f:value":{}},` +
		`"k:{\"name\":\"SETTING_2\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"SETTING_3\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},` +
		`"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},` +
		`"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},` +
		`"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}`
	return `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},` +
		`"f:ownerReferences":{".":{},"k:{\"uid\":\"` + owner + `\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{` + container + `},"k:{\"name\":\"proxy\"}":{` + container + `}},` +
		`"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:serviceAccount":{},"f:serviceAccountName":{},"f:terminationGracePeriodSeconds":{}}}`
}

func kubeletFields(ip string) string {
	condition := func(name string) string {
		return `"k:{\"type\":\"` + name + `\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:observedGeneration":{},"f:status":{},"f:type":{}}`
	}
	return `{"f:status":{"f:conditions":{` + condition("ContainersReady") + "," + condition("Initialized") + "," + condition("PodReadyToStartContainers") + "," + condition("Ready") +
		`},"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},"f:observedGeneration":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"` + ip + `\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`
}

func podIP(n int) string { return fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255) }

func spec(n int) corev1.PodSpec {
	token := "kube-api-access-" + suffix(n)
	toleration := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](300)}
	}
	return corev1.PodSpec{
		Containers: []corev1.Container{container(n, "main", token), container(n, "proxy", token)},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: app(n) + "-config"}, DefaultMode: ptr.To[int32](420)}}},
			{Name: token, VolumeSource: corev1.VolumeSource{Projected: tokenSource()}},
		},
		NodeName: fmt.Sprintf("node-%d", n%Nodes), ServiceAccountName: app(n), DeprecatedServiceAccount: app(n), RestartPolicy: "Always",
		DNSPolicy: "ClusterFirst", SchedulerName: "default-scheduler", SecurityContext: &corev1.PodSecurityContext{}, EnableServiceLinks: ptr.To(true),
		TerminationGracePeriodSeconds: ptr.To[int64](30), Priority: ptr.To[int32](0), PreemptionPolicy: ptr.To(corev1.PreemptLowerPriority),
		Tolerations: []corev1.Toleration{toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")},
	}
}

func tokenSource() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To[int32](420),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr.To[int64](3607), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		},
	}
}

func container(n int, name, token string) corev1.Container {
	limits := func() corev1.ResourceList {
		return corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("256Mi")}
	}
	probe := func(path string) *corev1.Probe {
		p := &corev1.Probe{TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3}
		p.HTTPGet = &corev1.HTTPGetAction{Path: path, Scheme: "HTTP"}
		p.HTTPGet.Port.IntVal = 8080
		return p
	}
	env := []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}}
	for i := range 8 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: fmt.Sprintf("value of %s number %d", app(n), i)})
	}
	return corev1.Container{
		Name: name, Image: "registry.example.com/shop/" + app(n) + "-" + name + ":1.2.3", Env: env, ImagePullPolicy: "IfNotPresent",
		Ports:         []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}, {Name: "metrics", ContainerPort: 9090, Protocol: "TCP"}},
		Resources:     corev1.ResourceRequirements{Limits: limits(), Requests: limits()},
		LivenessProbe: probe("/live"), ReadinessProbe: probe("/ready"),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/" + app(n)},
			{Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
		},
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File",
	}
}

func status(n int) corev1.PodStatus {
	started, host := at(n, 1), fmt.Sprintf("192.168.0.%d", n%Nodes)
	s := corev1.PodStatus{
		Phase: "Running", PodIP: podIP(n), PodIPs: []corev1.PodIP{{IP: podIP(n)}}, HostIP: host, HostIPs: []corev1.HostIP{{IP: host}},
		StartTime: &started, QOSClass: "Guaranteed", ObservedGeneration: 1,
	}
	for i, typ := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: typ, Status: "True", LastTransitionTime: at(n, i), ObservedGeneration: 1})
	}
	for i, name := range []string{"main", "proxy"} {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: true, Started: ptr.To(true), Image: "registry.example.com/shop/" + app(n) + "-" + name + ":1.2.3",
			ImageID:     fmt.Sprintf("registry.example.com/shop/%s-%s@sha256:%064d", app(n), name, n%Templates),
			ContainerID: fmt.Sprintf("containerd://%064x", uint64(2*n+i+1)*0x9E3779B97F4A7C15),
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(n, 2)}},
		})
	}
	return s
}

// EncodedPods returns the protobuf form of the first pods, as their own Marshal writes it.
func EncodedPods(count int) [][]byte {
	encoded := make([][]byte, count)
	for n := range encoded {
		data, err := Pod(n).Marshal()
		if err != nil {
			panic(err)
		}
		encoded[n] = data
	}
	return encoded
}
