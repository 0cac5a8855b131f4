package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// load is what stands on the server before a program starts.
type load struct {
	Deployments, Replicas int
	Others                int  // ReplicaSets, EndpointSlices, ConfigMaps and Secrets, of each
	Varied                bool // environments and annotations of each pod's own
}

func (l load) String() string {
	s := fmt.Sprintf("%d × %d", l.Deployments, l.Replicas)
	if l.Varied {
		s += ", varied"
	}
	return s
}

func (l load) pods() int { return l.Deployments * l.Replicas }

const (
	nodes      = 200
	namespaces = 20
	// epoch is in the past, so that no controller waits for something to grow old.
	epochUnix = 1_780_000_000
)

func namespaceOf(n int) string { return fmt.Sprintf("load-%02d", n%namespaces) }
func nodeOf(n int) string      { return fmt.Sprintf("node-%03d", n%nodes) }

// randomFor gives every object random numbers of its own, the same in each run.
func randomFor(kind, a, b int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(kind)<<32|uint64(a), uint64(b)))
}

const letters = "bcdfghjklmnpqrstvwxz2456789"

func word(r *rand.Rand, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func hexDigits(r *rand.Rand, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

// The kinds of objects, for randomFor.
const (
	ofPod = iota
	ofSlice
	ofConfigMap
	ofSecret
	ofTemplate
)

func address(r *rand.Rand) string {
	return fmt.Sprintf("10.%d.%d.%d", r.IntN(256), r.IntN(256), 1+r.IntN(254))
}

func sliceAt(n int) *discoveryv1.EndpointSlice {
	r, yes := randomFor(ofSlice, n, 0), true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(n), Name: fmt.Sprintf("svc-%d-%s", n, word(r, 5)),
			GenerateName: fmt.Sprintf("svc-%d-", n),
			// The manager's own controller would delete a slice of its own without a Service.
			Labels: map[string]string{
				discoveryv1.LabelServiceName: fmt.Sprintf("svc-%d", n),
				discoveryv1.LabelManagedBy:   "mesh.example.com",
				"app":                        appOf(n),
			},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{
			{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)},
			{Name: new("metrics"), Port: new(int32(9090)), Protocol: new(corev1.ProtocolTCP)},
		},
	}
	for i := range 4 {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address(r)}, NodeName: new(nodeOf(n*4 + i)), Zone: new(zoneOf(n*4 + i)),
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: new(false)},
			TargetRef: &corev1.ObjectReference{
				Kind: "Pod", Namespace: namespaceOf(n), UID: types.UID(uuid(r)),
				Name: fmt.Sprintf("app-%d-%s-%s", n, word(r, 10), word(r, 5)),
			},
		})
	}
	return slice
}

func uuid(r *rand.Rand) string {
	h := hexDigits(r, 32)
	return fmt.Sprintf("%s-%s-4%s-a%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:])
}

func zoneOf(n int) string { return fmt.Sprintf("zone-%c", 'a'+n%nodes%3) }

func configMapAt(n int) *corev1.ConfigMap {
	r := randomFor(ofConfigMap, n, 0)
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(n), Name: fmt.Sprintf("config-%d", n),
			Labels: map[string]string{"app": appOf(n)},
		},
		Data: map[string]string{"config.yaml": "listen: :8080\nlog: info\ntoken: " + word(r, 300), "features": "a,b,c"},
	}
}

func secretAt(n int) *corev1.Secret {
	r := randomFor(ofSecret, n, 0)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(n), Name: fmt.Sprintf("secret-%d", n),
			Labels: map[string]string{"app": appOf(n)},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"username": []byte(word(r, 12)), "password": []byte(word(r, 300))},
	}
}

// statusAt is the kubelet's status of a pod that runs.
func statusAt(i, n int) corev1.PodStatus {
	r := randomFor(ofPod, i, n+1<<20)
	created := time.Unix(epochUnix+int64(r.IntN(1_000_000)), 0)
	at := func(seconds int) metav1.Time {
		return metav1.NewTime(created.Add(time.Duration(seconds) * time.Second))
	}
	condition := func(what corev1.PodConditionType, seconds int) corev1.PodCondition {
		return corev1.PodCondition{Type: what, Status: corev1.ConditionTrue, LastTransitionTime: at(seconds)}
	}
	started := true
	status := func(name, image string) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: name, Image: image,
			ImageID:     image[:10] + "@sha256:" + hexDigits(randomFor(ofTemplate, i, len(name)), 64),
			ContainerID: "containerd://" + hexDigits(r, 64), Ready: true, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(2 + r.IntN(9))}},
		}
	}
	ip, host := address(r), fmt.Sprintf("192.168.%d.%d", (i*31+n)%nodes/250, (i*31+n)%nodes)
	return corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: host, HostIPs: []corev1.HostIP{{IP: host}}, PodIP: ip,
		PodIPs:   []corev1.PodIP{{IP: ip}},
		QOSClass: corev1.PodQOSBurstable, StartTime: new(at(0)),
		Conditions: []corev1.PodCondition{
			condition(corev1.PodReadyToStartContainers, 2), condition(corev1.PodInitialized, 0),
			condition(corev1.PodReady, 12), condition(corev1.ContainersReady, 12),
			condition(corev1.PodScheduled, 0),
		},
		ContainerStatuses: []corev1.ContainerStatus{status("server", imageOf(i, current)), status("proxy", proxyImage)},
	}
}
