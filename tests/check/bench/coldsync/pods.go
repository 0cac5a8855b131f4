package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

const (
	templates  = 50
	namespaces = 10
	nodes      = 200

	// The three field managers of a pod.
	replicaSetManager = "kube-controller-manager"
	kubeletManager    = "kubelet"
	applyManager      = "cost-reporter"

	// mark is on every pod of the benchmark, for its selector.
	mark = "coldsync.example.com/pod"
	// sentAt has the time at which an update was sent, in nanoseconds, or 0. All pods have it, so that the updates do
	// not change the size of managedFields.
	sentAt = "coldsync.example.com/sent-at"
)

// epoch is when the first pod was made.
var epoch = time.Date(2026, 9, 1, 6, 0, 0, 0, time.UTC)

// replicaSetAt is the owner of the pods of the n-th template.
func replicaSetAt(n int) *appsv1.ReplicaSet {
	labels := labelsOf(n)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(n), Name: templateOf(n), Labels: labels},
		Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: imageOf(appOf(n))}}},
			},
		},
	}
}

// podAt makes the n-th pod as a ReplicaSet controller creates it, already with the node that the scheduler would give it.
// Pods of one template differ in their names, nodes and token volumes only.
func podAt(n int, owner types.UID) *corev1.Pod {
	app, token := appOf(n), "kube-api-access-"+digest("token", n)[:10]
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(n), Name: nameOf(n), GenerateName: templateOf(n) + "-", Labels: labelsOf(n),
			Annotations: map[string]string{
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "prometheus.io/path": "/metrics",
				"example.com/config-checksum": digest("config", n%templates),
				sentAt:                        fmt.Sprintf("%0*d", sentAtLength, 0),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: templateOf(n), UID: owner, Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: corev1.PodSpec{
			NodeName:   nodeOf(n),
			Containers: []corev1.Container{serverContainer(app, token), proxyContainer(token)},
			Volumes: []corev1.Volume{
				{Name: token, VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
			ServiceAccountName: app, RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst,
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: new(int64(65532))},
			Tolerations:     []corev1.Toleration{evicted("not-ready"), evicted("unreachable")},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 100,
				PodAffinityTerm: corev1.PodAffinityTerm{
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": app}},
					TopologyKey:   "kubernetes.io/hostname",
				},
			}}}},
		},
	}
}

func serverContainer(app, token string) corev1.Container {
	env := []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
		{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}},
		{Name: "DATABASE_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: app + "-database"}, Key: "password"}}},
		{Name: "DATABASE_URL", Value: "postgres://" + app + "@database.shop.svc:5432/" + app},
		{Name: "CACHE_URL", Value: "redis://cache.shop.svc:6379/0"},
		{Name: "LOG_LEVEL", Value: "info"},
		{Name: "OTEL_SERVICE_NAME", Value: app},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Value: "http://collector.monitoring.svc:4317"},
	}
	return corev1.Container{
		Name: "server", Image: imageOf(app), ImagePullPolicy: corev1.PullIfNotPresent, Env: env,
		Args:          []string{"serve", "--listen=:8080", "--metrics=:9090"},
		Ports:         []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}},
		Resources:     resources("250m", "256Mi"),
		LivenessProbe: probe("/live"), ReadinessProbe: probe("/ready"),
		VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/tmp"}, tokenMount(token)},
	}
}

func proxyContainer(token string) corev1.Container {
	return corev1.Container{
		Name: "proxy", Image: proxyImage, ImagePullPolicy: corev1.PullIfNotPresent,
		Env: []corev1.EnvVar{
			{Name: "NODE_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"}}},
			{Name: "PROXY_UPSTREAM", Value: "127.0.0.1:8080"}, {Name: "PROXY_CONCURRENCY", Value: "2"},
		},
		Ports:        []corev1.ContainerPort{{Name: "proxy", ContainerPort: 15001, Protocol: corev1.ProtocolTCP}},
		Resources:    resources("100m", "128Mi"),
		VolumeMounts: []corev1.VolumeMount{tokenMount(token)},
	}
}

const proxyImage = "registry.example.com/mesh/proxy:3.4.1"

func imageOf(app string) string { return "registry.example.com/shop/" + app + ":1.2.3" }

func resources(cpu, memory string) corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

func probe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func tokenMount(token string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}
}

// tokenVolume is what the ServiceAccount admission adds to every pod, under a name of the pod's own.
func tokenVolume() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o644)),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		},
	}
}

func evicted(why string) corev1.Toleration {
	return corev1.Toleration{
		Key: "node.kubernetes.io/" + why, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
	}
}

// statusAt is the kubelet's status of the n-th pod when it runs.
func statusAt(n int) corev1.PodStatus {
	created := epoch.Add(time.Duration(n) * 7 * time.Second)
	at := func(seconds int) metav1.Time {
		return metav1.NewTime(created.Add(time.Duration(seconds) * time.Second))
	}
	condition := func(typ corev1.PodConditionType, seconds int) corev1.PodCondition {
		return corev1.PodCondition{Type: typ, Status: corev1.ConditionTrue, LastTransitionTime: at(seconds)}
	}
	container := func(name, image string, seconds int) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: name, Ready: true, Started: new(true), Image: image, ImageID: image + "@sha256:" + digest(image, 0),
			ContainerID: "containerd://" + digest(name, n), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(seconds)}},
		}
	}
	ip, started := ipOf(n), at(1)
	return corev1.PodStatus{
		Phase: corev1.PodRunning, QOSClass: corev1.PodQOSGuaranteed, StartTime: &started,
		HostIP: hostIPOf(n), HostIPs: []corev1.HostIP{{IP: hostIPOf(n)}}, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{
			condition("PodReadyToStartContainers", 2), condition(corev1.PodInitialized, 1), condition(corev1.PodReady, 9),
			condition(corev1.ContainersReady, 9), condition(corev1.PodScheduled, 0),
		},
		ContainerStatuses: []corev1.ContainerStatus{container("server", imageOf(appOf(n)), 4), container("proxy", proxyImage, 3)},
	}
}

// applyAt is the applied configuration of a third writer for the n-th pod.
func applyAt(n int) *corev1ac.PodApplyConfiguration {
	return corev1ac.Pod(nameOf(n), namespaceOf(n)).
		WithLabels(map[string]string{"cost.example.com/team": fmt.Sprintf("team-%d", n%7)}).
		WithAnnotations(map[string]string{"cost.example.com/centre": fmt.Sprintf("%04d", n%templates)})
}

func labelsOf(n int) map[string]string {
	return map[string]string{
		mark: "true", "app.kubernetes.io/name": appOf(n), "app.kubernetes.io/component": "server", "app.kubernetes.io/part-of": "shop",
		"pod-template-hash": digest("template", n%templates)[:9],
	}
}

func templateOf(n int) string  { return appOf(n) + "-" + digest("template", n%templates)[:9] }
func nameOf(n int) string      { return templateOf(n) + "-" + digest("pod", n)[:10] }
func appOf(n int) string       { return fmt.Sprintf("app-%02d", n%templates) }
func namespaceOf(n int) string { return fmt.Sprintf("coldsync-%d", n%namespaces) }
func nodeOf(n int) string      { return fmt.Sprintf("node-%03d.example.com", n%nodes) }
func hostIPOf(n int) string    { return fmt.Sprintf("192.168.%d.%d", n%nodes>>7, n%nodes&127+1) }
func ipOf(n int) string        { return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255) }

// digest is a name that no other kind and number has: 64 hexadecimal digits.
func digest(kind string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	return hex.EncodeToString(sum[:])
}
