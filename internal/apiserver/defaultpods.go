package apiserver

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// defaultPod is for Pods. Some of their defaults are not those of templates.
func defaultPod(spec *corev1.PodSpec) {
	if ptr.Deref(spec.TerminationGracePeriodSeconds, 0) < 0 {
		spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	}
	setPointer(&spec.EnableServiceLinks, true)
	defaultPodSpec(spec)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if c.Resources.Limits != nil { // as much is requested
				requests := maps.Clone(c.Resources.Limits)
				maps.Copy(requests, c.Resources.Requests)
				c.Resources.Requests = requests
			}
			for j := range c.Ports {
				if spec.HostNetwork {
					set(&c.Ports[j].HostPort, c.Ports[j].ContainerPort)
				}
			}
		}
	}
}

func defaultTemplate(t *corev1.PodTemplateSpec) { defaultPodSpec(&t.Spec) }

func defaultPodSpec(spec *corev1.PodSpec) {
	set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	set(&spec.DNSPolicy, corev1.DNSClusterFirst)
	set(&spec.SchedulerName, corev1.DefaultSchedulerName)
	set(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	setPointer(&spec.TerminationGracePeriodSeconds, 30)
	setPointer(&spec.SecurityContext, corev1.PodSecurityContext{})
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i].VolumeSource)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			defaultContainer(&containers[i])
		}
	}
}

func defaultContainer(c *corev1.Container) {
	set(&c.ImagePullPolicy, pullPolicy(c.Image))
	set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		set(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for _, e := range c.Env {
		if e.ValueFrom != nil {
			defaultFieldRef(e.ValueFrom.FieldRef)
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p == nil {
			continue
		}
		set(&p.TimeoutSeconds, 1)
		set(&p.PeriodSeconds, 10)
		set(&p.SuccessThreshold, 1)
		set(&p.FailureThreshold, 3)
		defaultHTTPGet(p.HTTPGet)
		if p.GRPC != nil {
			setPointer(&p.GRPC.Service, "")
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				defaultHTTPGet(h.HTTPGet)
			}
		}
	}
}

func defaultHTTPGet(get *corev1.HTTPGetAction) {
	if get != nil {
		set(&get.Path, "/")
		set(&get.Scheme, corev1.URISchemeHTTP)
	}
}

func defaultFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		set(&ref.APIVersion, "v1")
	}
}

func defaultVolume(v *corev1.VolumeSource) {
	const mode = corev1.ConfigMapVolumeSourceDefaultMode // that of the others, too
	switch {
	case *v == corev1.VolumeSource{}:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	case v.Secret != nil:
		setPointer(&v.Secret.DefaultMode, mode)
	case v.ConfigMap != nil:
		setPointer(&v.ConfigMap.DefaultMode, mode)
	case v.DownwardAPI != nil:
		setPointer(&v.DownwardAPI.DefaultMode, mode)
		for _, item := range v.DownwardAPI.Items {
			defaultFieldRef(item.FieldRef)
		}
	case v.Projected != nil:
		setPointer(&v.Projected.DefaultMode, mode)
		for _, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				for _, item := range source.DownwardAPI.Items {
					defaultFieldRef(item.FieldRef)
				}
			}
			if source.ServiceAccountToken != nil {
				setPointer(&source.ServiceAccountToken.ExpirationSeconds, 3600)
			}
		}
	case v.HostPath != nil:
		setPointer(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Image != nil:
		set(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		setPointer(&v.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
}

// pullPolicy is Always for a tag that may name another image later.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if !strings.Contains(name, "@") && (!strings.Contains(name, ":") || strings.HasSuffix(name, ":latest")) {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}
