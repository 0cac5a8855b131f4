//lint:file-ignore SA1019 Endpoints are deprecated, but a server has them and kubectl prints them.

package table_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func printer(t testing.TB, group, kind string) *table.Printer {
	t.Helper()
	for _, info := range resource.Builtins() {
		if info.GVK.Kind == kind && info.GVK.Group == group {
			return table.For(info)
		}
	}
	t.Fatalf("no kind %s", kind)
	return nil
}

// text prints a table as kubectl -o wide does.
func text(tab *metav1.Table) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	var names []string
	for _, c := range tab.ColumnDefinitions {
		names = append(names, strings.ToUpper(c.Name))
	}
	fmt.Fprintln(w, strings.Join(names, "\t"))
	for _, r := range tab.Rows {
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, fmt.Sprint(c))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush()
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

// named is the metadata of an object that is five minutes and ten seconds old.
func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "shop", CreationTimestamp: metav1.NewTime(time.Now().Add(-310 * time.Second))}
}

func ptr[T any](v T) *T { return &v }

func check(t *testing.T, group, kind, want string, objs func() []resource.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		got := text(printer(t, group, kind).Table(objs(), metav1.ListMeta{}, table.Options{}))
		require.Equal(t, strings.TrimSpace(want), got, "\n"+got)
	})
}

func TestTable_Services(t *testing.T) {
	check(t, "", "Service", `
NAME       TYPE           CLUSTER-IP   EXTERNAL-IP             PORT(S)         AGE     SELECTOR
web        ClusterIP      10.0.0.7     <none>                  80/TCP,53/UDP   5m10s   app=web,tier=front
none       ClusterIP      None         192.0.2.9               <none>          5m10s   <none>
node       NodePort       <none>       <none>                  80:30080/TCP    5m10s   <none>
pending    LoadBalancer   10.0.0.8     <pending>               443:30443/TCP   5m10s   <none>
balanced   LoadBalancer   10.0.0.9     192.0.2.1,lb.test,x.y   443:30443/TCP   5m10s   <none>
else       ExternalName   <none>       db.example.com          <none>          5m10s   <none>
odd        Odd            <none>       <unknown>               <none>          5m10s   <none>`,
		func() []resource.Object {
			service := func(name string, spec corev1.ServiceSpec) *corev1.Service {
				return &corev1.Service{ObjectMeta: named(name), Spec: spec}
			}
			https := []corev1.ServicePort{{Port: 443, NodePort: 30443, Protocol: "TCP"}}
			balanced := service("balanced", corev1.ServiceSpec{Type: "LoadBalancer", ClusterIP: "10.0.0.9", ExternalIPs: []string{"x.y"}, Ports: https})
			balanced.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.test"}, {IP: "192.0.2.1", Hostname: "unseen"}}
			return []resource.Object{
				service("web", corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "10.0.0.7", ClusterIPs: []string{"10.0.0.7"}, Selector: map[string]string{"tier": "front", "app": "web"},
					Ports: []corev1.ServicePort{{Port: 80, Protocol: "TCP"}, {Port: 53, Protocol: "UDP"}}}),
				service("none", corev1.ServiceSpec{Type: "ClusterIP", ClusterIPs: []string{"None"}, ExternalIPs: []string{"192.0.2.9"}}),
				service("node", corev1.ServiceSpec{Type: "NodePort", Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: "TCP"}}}),
				service("pending", corev1.ServiceSpec{Type: "LoadBalancer", ClusterIP: "10.0.0.8", Ports: https}),
				balanced,
				service("else", corev1.ServiceSpec{Type: "ExternalName", ExternalName: "db.example.com"}),
				service("odd", corev1.ServiceSpec{Type: "Odd"}),
			}
		})
}

func TestTable_Ingresses(t *testing.T) {
	check(t, "networking.k8s.io", "Ingress", `
NAME    CLASS    HOSTS               ADDRESS             PORTS     AGE
web     nginx    example.com                             80        5m10s
tls     <none>   a,b,c + 2 more...   192.0.2.1,lb.test   80, 443   5m10s
any     nginx    *                                       80        5m10s
three   nginx    a,b,c                                   80        5m10s`,
		func() []resource.Object {
			ingress := func(name string, class *string, hosts ...string) *networkingv1.Ingress {
				in := &networkingv1.Ingress{ObjectMeta: named(name), Spec: networkingv1.IngressSpec{IngressClassName: class}}
				for _, h := range hosts {
					in.Spec.Rules = append(in.Spec.Rules, networkingv1.IngressRule{Host: h})
				}
				return in
			}
			tls := ingress("tls", nil, "a", "b", "c", "d", "e")
			tls.Spec.TLS = []networkingv1.IngressTLS{{}}
			tls.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "lb.test"}, {IP: "192.0.2.1"}}
			return []resource.Object{ingress("web", ptr("nginx"), "example.com"), tls, ingress("any", ptr("nginx"), ""), ingress("three", ptr("nginx"), "a", "b", "c")}
		})
}

func TestTable_Pods(t *testing.T) {
	check(t, "", "Pod", `
NAME      READY   STATUS             RESTARTS     AGE     IP         NODE     NOMINATED NODE   READINESS GATES
fresh     0/1     Pending            0            5m10s   <none>     <none>   <none>           <none>
running   1/1     Running            2 (2m ago)   5m10s   10.1.0.3   n1       <none>           1/2
crash     0/1     CrashLoopBackOff   7            5m10s   <none>     <none>   <none>           <none>
init      0/1     Init:0/1           0            5m10s   <none>     <none>   <none>           <none>
initbad   0/1     Init:Error         0            5m10s   <none>     <none>   <none>           <none>
sidecar   2/2     Running            0            5m10s   <none>     <none>   <none>           <none>
done      0/1     Completed          0            5m10s   <none>     <none>   <none>           <none>
gone      0/1     Terminating        0            5m10s   <none>     <none>   <none>           <none>
lost      0/1     Unknown            0            5m10s   <none>     <none>   <none>           <none>
signal    0/1     Signal:9           0            5m10s   <none>     <none>   <none>           <none>
code      0/1     ExitCode:3         0            5m10s   <none>     <none>   <none>           <none>`, pods)
}

func pods() []resource.Object {
	pod := func(name string, phase corev1.PodPhase, statuses ...corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: named(name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
			Status: corev1.PodStatus{Phase: phase, ContainerStatuses: statuses}}
	}
	up := corev1.ContainerStatus{Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	dead := func(t corev1.ContainerStateTerminated) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &t}}
	}
	restarted := up
	restarted.RestartCount = 2
	restarted.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(time.Now().Add(-2 * time.Minute))}
	running := pod("running", "Running", restarted)
	running.Spec.NodeName, running.Status.PodIP = "n1", "10.1.0.3"
	running.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "a"}, {ConditionType: "b"}}
	running.Status.Conditions = []corev1.PodCondition{{Type: "a", Status: "True"}, {Type: "b", Status: "False"}}

	withInit := func(name string, policy *corev1.ContainerRestartPolicy, s corev1.ContainerStatus) *corev1.Pod {
		p := pod(name, "Pending")
		s.Name = "first"
		p.Spec.InitContainers = []corev1.Container{{Name: "first", RestartPolicy: policy}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{s}
		return p
	}
	sidecar := withInit("sidecar", ptr(corev1.ContainerRestartPolicyAlways), corev1.ContainerStatus{Ready: true, Started: ptr(true)})
	sidecar.Status.Phase, sidecar.Status.ContainerStatuses = "Running", []corev1.ContainerStatus{up}
	gone := pod("gone", "Running")
	gone.DeletionTimestamp = ptr(metav1.Now())
	lost := pod("lost", "Running")
	lost.DeletionTimestamp, lost.Status.Reason = ptr(metav1.Now()), "NodeLost"
	return []resource.Object{
		pod("fresh", "Pending"), running,
		pod("crash", "Running", corev1.ContainerStatus{RestartCount: 7, State: waiting("CrashLoopBackOff")}),
		withInit("init", nil, corev1.ContainerStatus{State: waiting("PodInitializing")}),
		withInit("initbad", nil, dead(corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"})),
		sidecar,
		pod("done", "Succeeded", dead(corev1.ContainerStateTerminated{Reason: "Completed"})), gone, lost,
		pod("signal", "Failed", dead(corev1.ContainerStateTerminated{Signal: 9})),
		pod("code", "Failed", dead(corev1.ContainerStateTerminated{ExitCode: 3})),
	}
}

func TestTable_FinishedPodsAreMarked(t *testing.T) {
	marks := map[string]string{}
	for _, r := range printer(t, "", "Pod").Table(pods(), metav1.ListMeta{}, table.Options{}).Rows {
		for _, c := range r.Conditions {
			marks[r.Cells[0].(string)] = string(c.Type) + "=" + string(c.Status) + " " + c.Reason
		}
	}
	require.Equal(t, map[string]string{"done": "Completed=True Succeeded", "signal": "Completed=True Failed", "code": "Completed=True Failed"}, marks)
}

func TestTable_Workloads(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeSelector: map[string]string{"disk": "ssd"},
		Containers: []corev1.Container{{Name: "a", Image: "a:1"}, {Name: "b", Image: "b:2"}}}}
	app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	check(t, "apps", "Deployment", `
NAME   READY   UP-TO-DATE   AVAILABLE   AGE     CONTAINERS   IMAGES    SELECTOR
web    2/3     1            2           5m10s   a,b          a:1,b:2   app=web
one    0/1     0            0           5m10s                          <none>`, func() []resource.Object {
		return []resource.Object{
			&appsv1.Deployment{ObjectMeta: named("web"), Spec: appsv1.DeploymentSpec{Replicas: ptr(int32(3)), Template: template, Selector: app},
				Status: appsv1.DeploymentStatus{ReadyReplicas: 2, UpdatedReplicas: 1, AvailableReplicas: 2}},
			&appsv1.Deployment{ObjectMeta: named("one"), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}}},
		}
	})
	check(t, "apps", "ReplicaSet", `
NAME   DESIRED   CURRENT   READY   AGE     CONTAINERS   IMAGES    SELECTOR
web    3         2         1       5m10s   a,b          a:1,b:2   app=web`, func() []resource.Object {
		return []resource.Object{&appsv1.ReplicaSet{ObjectMeta: named("web"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr(int32(3)), Template: template, Selector: app},
			Status: appsv1.ReplicaSetStatus{Replicas: 2, ReadyReplicas: 1}}}
	})
	check(t, "apps", "StatefulSet", `
NAME   READY   AGE     CONTAINERS   IMAGES
web    1/1     5m10s   a,b          a:1,b:2`, func() []resource.Object {
		return []resource.Object{&appsv1.StatefulSet{ObjectMeta: named("web"), Spec: appsv1.StatefulSetSpec{Template: template}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 1}}}
	})
	check(t, "apps", "DaemonSet", `
NAME   DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE     CONTAINERS   IMAGES    SELECTOR
web    5         4         3       2            1           disk=ssd        5m10s   a,b          a:1,b:2   app=web`, func() []resource.Object {
		return []resource.Object{&appsv1.DaemonSet{ObjectMeta: named("web"), Spec: appsv1.DaemonSetSpec{Template: template, Selector: app},
			Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 5, CurrentNumberScheduled: 4, NumberReady: 3, UpdatedNumberScheduled: 2, NumberAvailable: 1}}}
	})
}

func TestTable_Events(t *testing.T) {
	event := func(name string) *corev1.Event {
		return &corev1.Event{ObjectMeta: named(name), Type: "Warning", Reason: "NoPort", Message: " no TCP port\n",
			InvolvedObject: corev1.ObjectReference{Kind: "Service", Name: "web", FieldPath: "spec"}}
	}
	check(t, "", "Event", `
LAST SEEN   TYPE      REASON   OBJECT        SUBOBJECT   SOURCE    MESSAGE       FIRST SEEN   COUNT   NAME
2m          Warning   NoPort   service/web   spec        ctl, n1   no TCP port   3h           4       old
3h          Warning   NoPort   service/web   spec        rep, i1   no TCP port   3h           1       single
2m          Warning   NoPort   service/web   spec                  no TCP port   3h           9       series
<unknown>   Warning   NoPort   service/web   spec                  no TCP port   <unknown>    1       bare`, func() []resource.Object {
		first, last := metav1.NewTime(time.Now().Add(-3*time.Hour)), metav1.NewTime(time.Now().Add(-2*time.Minute))
		old, single, series := event("old"), event("single"), event("series")
		old.FirstTimestamp, old.LastTimestamp, old.Count, old.Source = first, last, 4, corev1.EventSource{Component: "ctl", Host: "n1"}
		single.EventTime, single.ReportingController, single.ReportingInstance = metav1.NewMicroTime(first.Time), "rep", "i1"
		series.EventTime, series.Series = metav1.NewMicroTime(first.Time), &corev1.EventSeries{Count: 9, LastObservedTime: metav1.NewMicroTime(last.Time)}
		return []resource.Object{old, single, series, event("bare")}
	})
	check(t, "events.k8s.io", "Event", `
LAST SEEN   TYPE     REASON    OBJECT    SUBOBJECT   SOURCE   MESSAGE   FIRST SEEN   COUNT   NAME
2m          Normal   Created   service               rep      made      2m           3       new`, func() []resource.Object {
		at := metav1.NewMicroTime(time.Now().Add(-2 * time.Minute))
		return []resource.Object{&eventsv1.Event{ObjectMeta: named("new"), Type: "Normal", Reason: "Created", Note: "made", ReportingController: "rep", EventTime: at,
			Regarding: corev1.ObjectReference{Kind: "Service"}, Series: &eventsv1.EventSeries{Count: 3, LastObservedTime: at}}}
	})
}

func TestTable_OtherKinds(t *testing.T) {
	one := func(obj resource.Object) func() []resource.Object {
		return func() []resource.Object { return []resource.Object{obj} }
	}
	aged := func(obj resource.Object) func() []resource.Object {
		return func() []resource.Object {
			obj.SetName("x")
			obj.SetCreationTimestamp(named("x").CreationTimestamp)
			return []resource.Object{obj}
		}
	}
	check(t, "", "Namespace", "NAME   STATUS   AGE\nx      Active   5m10s", aged(&corev1.Namespace{Status: corev1.NamespaceStatus{Phase: "Active"}}))
	check(t, "", "ConfigMap", "NAME   DATA   AGE\nx      3      5m10s", aged(&corev1.ConfigMap{Data: map[string]string{"a": "", "b": ""}, BinaryData: map[string][]byte{"c": nil}}))
	check(t, "", "Secret", "NAME   TYPE     DATA   AGE\nx      Opaque   1      5m10s", aged(&corev1.Secret{Type: "Opaque", Data: map[string][]byte{"a": nil}}))
	check(t, "", "ServiceAccount", "NAME   SECRETS   AGE\nx      0         5m10s", aged(&corev1.ServiceAccount{}))
	check(t, "coordination.k8s.io", "Lease", "NAME   HOLDER   AGE\nx      me       5m10s", aged(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr("me")}}))
	check(t, "", "LimitRange", "NAME   AGE\nx      5m10s", aged(&corev1.LimitRange{}))
	check(t, "", "LimitRange", "NAME   AGE\n       <unknown>", one(&corev1.LimitRange{}))
	check(t, "", "Node", `
NAME   STATUS                     ROLES           AGE     VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE    KERNEL-VERSION   CONTAINER-RUNTIME
x      Ready,SchedulingDisabled   control,extra   5m10s   v1        10.0.0.1      <none>        <unknown>   6.1              <unknown>`,
		aged(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"node-role.kubernetes.io/control": "", "kubernetes.io/role": "extra"}},
			Spec: corev1.NodeSpec{Unschedulable: true}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True"}},
				Addresses: []corev1.NodeAddress{{Type: "InternalIP", Address: "10.0.0.1"}}, NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1", KernelVersion: "6.1"}}}))
	check(t, "", "Endpoints", "NAME   ENDPOINTS                                         AGE\nx      10.0.0.1:80,10.0.0.1:81,10.0.0.2:80 + 1 more...   5m10s", (aged(&corev1.Endpoints{
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.0.0.1"}, {IP: "10.0.0.2"}}, Ports: []corev1.EndpointPort{{Port: 80}, {Port: 81}}}}})))
	check(t, "discovery.k8s.io", "EndpointSlice", "NAME   ADDRESSTYPE   PORTS     ENDPOINTS           AGE\nx      IPv4          80,http   10.0.0.1,10.0.0.2   5m10s", (aged(&discoveryv1.EndpointSlice{AddressType: "IPv4",
		Ports: []discoveryv1.EndpointPort{{Port: ptr(int32(80))}, {Name: ptr("http")}}, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}, {Addresses: []string{"10.0.0.2"}}}})))
	check(t, "networking.k8s.io", "IngressClass", "NAME   CONTROLLER   PARAMETERS   AGE\nx      a/b          Kind.g/n     5m10s", aged(&networkingv1.IngressClass{
		Spec: networkingv1.IngressClassSpec{Controller: "a/b", Parameters: &networkingv1.IngressClassParametersReference{APIGroup: ptr("g"), Kind: "Kind", Name: "n"}}}))
	check(t, "networking.k8s.io", "NetworkPolicy", "NAME   POD-SELECTOR   AGE\nx      <none>         5m10s", aged(&networkingv1.NetworkPolicy{}))
	check(t, "apiextensions.k8s.io", "CustomResourceDefinition", "NAME   CREATED AT\nx      1999-12-31T23:54:50Z", aged(&apiextensionsv1.CustomResourceDefinition{}))
}

func TestTable_EveryBuiltinPrintsAsManyCellsAsColumns(t *testing.T) {
	for _, info := range resource.Builtins() {
		p := table.For(info)
		obj := info.New()
		obj.SetName("x")
		tab := p.Table([]resource.Object{obj}, metav1.ListMeta{}, table.Options{})
		require.Len(t, tab.Rows[0].Cells, len(p.Columns()), info.GVR)
		require.Contains(t, tab.Rows[0].Cells, any("x"))
		// An object of a foreign type has empty cells, but does not fail the request.
		foreign := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "y"}}}
		tab = p.Table([]resource.Object{foreign}, metav1.ListMeta{}, table.Options{})
		require.Len(t, tab.Rows[0].Cells, len(p.Columns()), info.GVR)
	}
}
