package apiserver

import (
	"maps"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver/crd"
)

// applyDefaults fills in, in place, the most visible of the defaults that a real server sets when it reads an object.
func applyDefaults(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		defaultService(&o.Spec)
	case *corev1.Namespace:
		defaultNamespace(o)
	case *apiextensionsv1.CustomResourceDefinition:
		crd.Default(o)
	case *corev1.Secret:
		set(&o.Type, corev1.SecretTypeOpaque)
		for key, value := range o.StringData { // clients can write it, but never read it
			if o.Data == nil {
				o.Data = map[string][]byte{}
			}
			o.Data[key] = []byte(value)
		}
		o.StringData = nil
	case *corev1.Pod:
		defaultPod(&o.Spec)
		set(&o.Status.Phase, corev1.PodPending)
	case *corev1.PodTemplate:
		defaultTemplate(&o.Template)
	case *corev1.PersistentVolumeClaim:
		defaultClaim(o)
	case *corev1.ReplicationController:
		defaultReplicationController(o)
	case *storagev1.StorageClass:
		setPointer(&o.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
		setPointer(&o.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	default:
		defaultWorkload(obj)
		defaultPolicy(obj)
	}
}

func set[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

func setPointer[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}

func defaultService(spec *corev1.ServiceSpec) {
	set(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		setPointer(&spec.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		setPointer(&spec.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		setPointer(&spec.SessionAffinityConfig.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
	}
	set(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		set(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	switch spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		set(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
		fallthrough
	case corev1.ServiceTypeClusterIP:
		setPointer(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		setPointer(&spec.AllocateLoadBalancerNodePorts, true)
	}
}

func defaultNamespace(ns *corev1.Namespace) {
	if ns.Name == "" {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	if _, ok := ns.Labels[corev1.LabelMetadataName]; !ok {
		ns.Labels[corev1.LabelMetadataName] = ns.Name
	}
}

func defaultWorkload(obj runtime.Object) {
	quarter := intstr.FromString("25%")
	switch o := obj.(type) {
	case *appsv1.Deployment:
		setPointer(&o.Spec.Replicas, 1)
		setPointer(&o.Spec.RevisionHistoryLimit, 10)
		setPointer(&o.Spec.ProgressDeadlineSeconds, 600)
		set(&o.Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
		if o.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
			setPointer(&o.Spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
			setPointer(&o.Spec.Strategy.RollingUpdate.MaxSurge, quarter)
			setPointer(&o.Spec.Strategy.RollingUpdate.MaxUnavailable, quarter)
		}
		defaultTemplate(&o.Spec.Template)
	case *appsv1.ReplicaSet:
		setPointer(&o.Spec.Replicas, 1)
		defaultTemplate(&o.Spec.Template)
	case *appsv1.StatefulSet:
		setPointer(&o.Spec.Replicas, 1)
		setPointer(&o.Spec.RevisionHistoryLimit, 10)
		set(&o.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
		defaultStatefulSet(&o.Spec)
		defaultTemplate(&o.Spec.Template)
	case *appsv1.DaemonSet:
		setPointer(&o.Spec.RevisionHistoryLimit, 10)
		set(&o.Spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
		if o.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
			setPointer(&o.Spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
			setPointer(&o.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
			setPointer(&o.Spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
		}
		defaultTemplate(&o.Spec.Template)
	case *batchv1.Job:
		defaultJob(o)
		defaultTemplate(&o.Spec.Template)
	case *batchv1.CronJob:
		set(&o.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
		setPointer(&o.Spec.Suspend, false)
		setPointer(&o.Spec.SuccessfulJobsHistoryLimit, 3)
		setPointer(&o.Spec.FailedJobsHistoryLimit, 1)
		defaultTemplate(&o.Spec.JobTemplate.Spec.Template)
	case *autoscalingv2.HorizontalPodAutoscaler:
		setPointer(&o.Spec.MinReplicas, 1)
		if len(o.Spec.Metrics) == 0 {
			o.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](80)}}}}
		}
	}
}

func defaultReplicationController(o *corev1.ReplicationController) {
	setPointer(&o.Spec.Replicas, 1)
	if o.Spec.Template == nil {
		return
	}
	defaultTemplate(o.Spec.Template)
	if len(o.Spec.Selector) == 0 {
		o.Spec.Selector = maps.Clone(o.Spec.Template.Labels)
	}
	if len(o.Labels) == 0 {
		o.Labels = maps.Clone(o.Spec.Template.Labels)
	}
}

func defaultJob(o *batchv1.Job) {
	if o.Spec.Parallelism == nil { // with it, and without completions, one Pod that succeeds is enough
		setPointer(&o.Spec.Completions, 1)
	}
	setPointer(&o.Spec.Parallelism, 1)
	if o.Spec.BackoffLimitPerIndex != nil {
		setPointer(&o.Spec.BackoffLimit, math.MaxInt32)
	}
	setPointer(&o.Spec.BackoffLimit, 6)
	setPointer(&o.Spec.CompletionMode, batchv1.NonIndexedCompletion)
	setPointer(&o.Spec.Suspend, false)
	setPointer(&o.Spec.ManualSelector, false)
	if policy := o.Spec.PodFailurePolicy; policy != nil {
		setPointer(&o.Spec.PodReplacementPolicy, batchv1.Failed)
		for _, rule := range policy.Rules {
			for i := range rule.OnPodConditions {
				set(&rule.OnPodConditions[i].Status, corev1.ConditionTrue)
			}
		}
	}
	setPointer(&o.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	defaultJobLabels(o)
}

// defaultJobLabels gives a Job without labels those of its Pods. As on a real server it is one map, so that labels which selectByUID adds to
// the Pods' are then the Job's, too.
func defaultJobLabels(o *batchv1.Job) {
	if len(o.Labels) == 0 && o.Spec.Template.Labels != nil {
		o.Labels = o.Spec.Template.Labels
	}
}

func defaultStatefulSet(spec *appsv1.StatefulSetSpec) {
	if strategy := &spec.UpdateStrategy; strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		setPointer(&strategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
		setPointer(&rolling.Partition, 0)
	}
	setPointer(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	set(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	set(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		claim.APIVersion, claim.Kind = "v1", "PersistentVolumeClaim"
		defaultClaim(claim)
	}
}

func defaultClaim(o *corev1.PersistentVolumeClaim) {
	setPointer(&o.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	set(&o.Status.Phase, corev1.ClaimPending)
}

func defaultPolicy(obj runtime.Object) {
	switch o := obj.(type) {
	case *networkingv1.NetworkPolicy:
		if len(o.Spec.PolicyTypes) == 0 {
			o.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
			if len(o.Spec.Egress) > 0 {
				o.Spec.PolicyTypes = append(o.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
			}
		}
	case *rbacv1.RoleBinding:
		set(&o.RoleRef.APIGroup, rbacv1.GroupName)
		defaultSubjects(o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		set(&o.RoleRef.APIGroup, rbacv1.GroupName)
		defaultSubjects(o.Subjects)
	}
}

func defaultSubjects(subjects []rbacv1.Subject) {
	for i := range subjects {
		if kind := subjects[i].Kind; kind == rbacv1.UserKind || kind == rbacv1.GroupKind {
			set(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}
