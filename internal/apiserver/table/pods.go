package table

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var podColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Ready", "The aggregate readiness state of this pod for accepting traffic."),
	column("Status", "The aggregate status of the containers in this pod."),
	column("Restarts", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
	ageColumn,
	wide("IP", corev1.PodStatus{}.SwaggerDoc()["podIP"]),
	wide("Node", corev1.PodSpec{}.SwaggerDoc()["nodeName"]),
	wide("Nominated Node", corev1.PodStatus{}.SwaggerDoc()["nominatedNodeName"]),
	wide("Readiness Gates", corev1.PodSpec{}.SwaggerDoc()["readinessGates"]),
}

func podCells(p *corev1.Pod) []any {
	s := summarize(p)
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	} else {
		ip = p.Status.PodIP
	}
	return []any{p.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, s.restartsCell(), age(p),
		orNone(ip), orNone(p.Spec.NodeName), orNone(p.Status.NominatedNodeName), gates(p)}
}

// podSummary is one line about all containers of a pod.
type podSummary struct {
	ready, total int
	reason       string
	restarts     int32
	lastRestart  metav1.Time
}

// summarize returns the first that applies: the deletion, the state of the init containers, the reason of the last
// failing container, the phase.
func summarize(p *corev1.Pod) podSummary {
	s := podSummary{total: len(p.Spec.Containers), reason: string(p.Status.Phase)}
	if p.Status.Reason != "" {
		s.reason = p.Status.Reason
	}
	if !s.initializing(p) {
		s.running(p)
	}
	if p.DeletionTimestamp != nil {
		s.reason = "Terminating"
		if p.Status.Reason == "NodeLost" {
			s.reason = "Unknown"
		}
	}
	return s
}

// initializing reports the first init container that has neither succeeded nor, being a sidecar, started.
func (s *podSummary) initializing(p *corev1.Pod) bool {
	sidecar := map[string]bool{}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecar[c.Name] = true
			s.total++
		}
	}
	for i, c := range p.Status.InitContainerStatuses {
		s.restarted(c)
		switch {
		case c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
			continue
		case sidecar[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case c.State.Terminated != nil:
			s.reason = "Init:" + terminated(c.State.Terminated)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			s.reason = "Init:" + c.State.Waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
		}
		return true
	}
	return false
}

func (s *podSummary) running(p *corev1.Pod) {
	s.restarts, s.lastRestart = 0, metav1.Time{}
	hasRunning := false
	for i := len(p.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := p.Status.ContainerStatuses[i]
		s.restarted(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = terminated(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			hasRunning = true
			s.ready++
		}
	}
	if s.reason == "Completed" && hasRunning { // one container ended well while others go on
		s.reason = "NotReady"
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				s.reason = "Running"
			}
		}
	}
}

func (s *podSummary) restarted(c corev1.ContainerStatus) {
	s.restarts += c.RestartCount
	if t := c.LastTerminationState.Terminated; t != nil && s.lastRestart.Before(&t.FinishedAt) {
		s.lastRestart = t.FinishedAt
	}
}

func (s *podSummary) restartsCell() string {
	if s.restarts != 0 && !s.lastRestart.IsZero() {
		return fmt.Sprintf("%d (%s ago)", s.restarts, since(s.lastRestart))
	}
	return strconv.Itoa(int(s.restarts))
}

func terminated(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func gates(p *corev1.Pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, g := range p.Spec.ReadinessGates {
		for _, c := range p.Status.Conditions {
			if c.Type == g.ConditionType && c.Status == corev1.ConditionTrue {
				open++
				break
			}
		}
	}
	return fmt.Sprintf("%d/%d", open, len(p.Spec.ReadinessGates))
}
