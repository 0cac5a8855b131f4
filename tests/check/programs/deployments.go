package main

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// current is the revision of the Deployments that their pods have. Earlier ones are ReplicaSets without pods.
const current = 100

func appOf(i int) string            { return fmt.Sprintf("app-%d", i) }
func hashOf(i, revision int) string { return word(randomFor(ofTemplate, i, revision), 10) }
func imageOf(i, revision int) string {
	return fmt.Sprintf("registry.example.com/shop/%s:1.2.%d", appOf(i), revision)
}
func setOf(i, revision int) string { return appOf(i) + "-" + hashOf(i, revision) }

const proxyImage = "registry.example.com/mesh/proxy:3.4.1"

func labelsOf(i int) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": appOf(i), "app.kubernetes.io/part-of": "shop", "app.kubernetes.io/managed-by": "Helm",
		"team": fmt.Sprintf("team-%d", i%7),
	}
}

func selectorOf(i int) map[string]string {
	return map[string]string{"app.kubernetes.io/name": appOf(i)}
}

func deploymentAt(l load, i int) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(i), Name: appOf(i), Labels: labelsOf(i),
			Annotations: map[string]string{"deployment.kubernetes.io/revision": strconv.Itoa(current)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(l.Replicas)), RevisionHistoryLimit: new(int32(50)),
			Selector: &metav1.LabelSelector{MatchLabels: selectorOf(i)}, Template: templateAt(i, current),
		},
	}
}

// replicaSetAt has the pods of its Deployment if its revision is the current one.
func replicaSetAt(l load, i, revision int, owner types.UID) *appsv1.ReplicaSet {
	replicas, yes := 0, true
	if revision == current {
		replicas = l.Replicas
	}
	template, hash := templateAt(i, revision), map[string]string{"pod-template-hash": hashOf(i, revision)}
	template.Labels = merge(template.Labels, hash)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(i), Name: setOf(i, revision), Labels: template.Labels,
			Annotations: map[string]string{
				"deployment.kubernetes.io/revision":         strconv.Itoa(revision),
				"deployment.kubernetes.io/desired-replicas": strconv.Itoa(l.Replicas),
				"deployment.kubernetes.io/max-replicas":     strconv.Itoa(l.Replicas + (l.Replicas+3)/4),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: appOf(i), UID: owner, Controller: &yes,
				BlockOwnerDeletion: &yes,
			}},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(replicas)), Template: template,
			Selector: &metav1.LabelSelector{MatchLabels: merge(selectorOf(i), hash)},
		},
	}
}

func merge(a, b map[string]string) map[string]string {
	both := map[string]string{}
	for k, v := range a {
		both[k] = v
	}
	for k, v := range b {
		both[k] = v
	}
	return both
}

// podAt is the n-th pod of a Deployment, much like those of tests/check/bench/coldsync, as the ReplicaSet controller, the
// admission and the scheduler leave it.
func podAt(l load, i, n int, owner types.UID) *corev1.Pod {
	r, yes := randomFor(ofPod, i, n), true
	template := templateAt(i, current)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(i), Name: setOf(i, current) + "-" + word(r, 5),
			GenerateName: setOf(i, current) + "-",
			Labels:       merge(template.Labels, map[string]string{"pod-template-hash": hashOf(i, current)}),
			Annotations:  template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: setOf(i, current), UID: owner,
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: template.Spec,
	}
	pod.Spec.NodeName = nodeOf(i*31 + n)
	token := "kube-api-access-" + word(r, 5)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: token,
		VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}})
	for c := range pod.Spec.Containers {
		container := &pod.Spec.Containers[c]
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{
			Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
		})
		if l.Varied {
			for e := range 12 {
				container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%s", hexDigits(r, 6)),
					Value: word(r, 24+e)})
			}
		}
	}
	if l.Varied {
		for range 4 {
			pod.Annotations["example.com/"+word(r, 10)] = word(r, 40)
		}
	}
	return pod
}

// tokenVolume is what the ServiceAccount admission adds to every pod, under a name of the pod's own.
func tokenVolume() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o644)),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)),
				Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1",
					FieldPath: "metadata.namespace"}}}}},
		},
	}
}

func templateAt(i, revision int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(i), Annotations: map[string]string{
			"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
			"example.com/config-checksum": hexDigits(randomFor(ofTemplate, i, 0), 64),
		}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				container("server", imageOf(i, revision), 8080, env(appOf(i))...),
				container("proxy", proxyImage, 15001, fieldEnv("NODE_NAME", "spec.nodeName"),
					value("PROXY_UPSTREAM", "127.0.0.1:8080"), value("PROXY_CONCURRENCY", "2")),
			},
			Volumes: []corev1.Volume{
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("config-%d", i)}}}},
			},
			ServiceAccountName: "default", TerminationGracePeriodSeconds: new(int64(1)),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65532))},
			Tolerations:     []corev1.Toleration{evicted("not-ready"), evicted("unreachable")},
			Affinity:        apartFrom(selectorOf(i)),
		},
	}
}

// apartFrom prefers other nodes than those that have such pods.
func apartFrom(labels map[string]string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: corev1.LabelHostname,
			},
		}},
	}}
}

func evicted(why string) corev1.Toleration {
	return corev1.Toleration{
		Key: "node.kubernetes.io/" + why, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: new(int64(300)),
	}
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

func env(app string) []corev1.EnvVar {
	return []corev1.EnvVar{
		fieldEnv("POD_NAME", "metadata.name"), fieldEnv("POD_IP", "status.podIP"),
		{Name: "DATABASE_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: app + "-database"}, Key: "password"}}},
		value("DATABASE_URL", "postgres://"+app+"@database.shop.svc:5432/"+app),
		value("CACHE_URL", "redis://cache.shop.svc:6379/0"), value("LOG_LEVEL", "info"),
		value("OTEL_SERVICE_NAME", app),
		value("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.monitoring.svc:4317"),
	}
}

func value(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

func container(name, image string, port int32, env ...corev1.EnvVar) corev1.Container {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}
	}
	probe := &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/" + name,
			Port: intstr.FromString(name), Scheme: corev1.URISchemeHTTP}},
		PeriodSeconds: 10, TimeoutSeconds: 1,
	}
	return corev1.Container{
		Name: name, Image: image, Env: env, Args: []string{"serve", "--listen=:8080", "--metrics=:9090"},
		Ports: []corev1.ContainerPort{
			{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP},
			{Name: name + "-metrics", ContainerPort: port + 1, Protocol: corev1.ProtocolTCP},
		},
		Resources:     corev1.ResourceRequirements{Requests: list("10m", "32Mi"), Limits: list("250m", "256Mi")},
		LivenessProbe: probe, ReadinessProbe: probe.DeepCopy(),
		VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/tmp"},
			{Name: "config", MountPath: "/etc/app", ReadOnly: true}},
	}
}
