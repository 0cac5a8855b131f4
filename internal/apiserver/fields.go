package apiserver

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"glasswatch/internal/apiserver/resource"
)

// moreFields are the fields, besides name and namespace, that a selector may name, per "resource.group".
var moreFields = map[string][]string{
	"pods":       {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"},
	"services":   {"spec.clusterIP", "spec.type"},
	"nodes":      {"spec.unschedulable"},
	"namespaces": {"status.phase"},
	"secrets":    {"type"},
	"events": {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
		"involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"},
	"events.events.k8s.io": {"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
		"regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type"},
	"replicasets.apps":       {"status.replicas"},
	"replicationcontrollers": {"status.replicas"},
	"jobs.batch":             {"status.successful"},
}

func selectable(info *resource.Info, name string) bool {
	return name == "metadata.name" || (name == "metadata.namespace" && info.Namespaced) ||
		(info.Custom == nil && slices.Contains(moreFields[info.GroupResource().String()], name)) ||
		(info.Custom != nil && slices.Contains(info.Custom.Fields, name))
}

// fieldsOf are the selectable fields of a stored object.
func fieldsOf(info *resource.Info, obj resource.Object) fields.Set {
	set := fields.Set{"metadata.name": obj.GetName()}
	if info.Namespaced {
		set["metadata.namespace"] = obj.GetNamespace()
	}
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		for _, name := range info.Custom.Fields {
			set[name] = ""
			if value, found, _ := unstructured.NestedFieldNoCopy(o.Object, splitPath(name)...); found {
				set[name] = fmt.Sprint(value)
			}
		}
	case *corev1.Pod:
		podFields(set, o)
	case *corev1.Service:
		set["spec.clusterIP"], set["spec.type"] = o.Spec.ClusterIP, string(o.Spec.Type)
	case *corev1.Node:
		set["spec.unschedulable"] = strconv.FormatBool(o.Spec.Unschedulable)
	case *corev1.Namespace:
		set["status.phase"] = string(o.Status.Phase)
	case *corev1.Secret:
		set["type"] = string(o.Type)
	case *corev1.Event:
		eventFields(set, "involvedObject", o)
		eventFields(set, "regarding", o)
	case *eventsv1.Event:
		if core, ok := eventFromV1(o).(*corev1.Event); ok {
			eventFields(set, "regarding", core)
		}
	case *appsv1.ReplicaSet:
		set["status.replicas"] = strconv.Itoa(int(o.Status.Replicas))
	case *corev1.ReplicationController:
		set["status.replicas"] = strconv.Itoa(int(o.Status.Replicas))
	case *batchv1.Job:
		set["status.successful"] = strconv.Itoa(int(o.Status.Succeeded))
	}
	return set
}

func podFields(set fields.Set, o *corev1.Pod) {
	set["spec.nodeName"] = o.Spec.NodeName
	set["spec.restartPolicy"] = string(o.Spec.RestartPolicy)
	set["spec.schedulerName"] = o.Spec.SchedulerName
	set["spec.serviceAccountName"] = o.Spec.ServiceAccountName
	set["spec.hostNetwork"] = strconv.FormatBool(o.Spec.HostNetwork)
	set["status.phase"] = string(o.Status.Phase)
	set["status.podIP"] = o.Status.PodIP
	set["status.nominatedNodeName"] = o.Status.NominatedNodeName
}

func eventFields(set fields.Set, about string, e *corev1.Event) {
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	ref := e.InvolvedObject
	set[about+".kind"], set[about+".namespace"], set[about+".name"] = ref.Kind, ref.Namespace, ref.Name
	set[about+".uid"], set[about+".apiVersion"] = string(ref.UID), ref.APIVersion
	set[about+".resourceVersion"], set[about+".fieldPath"] = ref.ResourceVersion, ref.FieldPath
	set["reason"], set["type"], set["source"] = e.Reason, e.Type, source
	set["reportingComponent"], set["reportingController"] = e.ReportingController, e.ReportingController
}
