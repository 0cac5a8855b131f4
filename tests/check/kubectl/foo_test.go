package kubectl

import (
	"fmt"
	"testing"
)

const foo = `apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: web}
spec: {deploymentName: web, replicas: 2}
`

func TestKubectl_DescribesAFooWithItsEventsCountedUp(t *testing.T) {
	onBothServers(t, func(t *testing.T, s *terminal) {
		s.ok("apply -f ../../../deploy/foo-controller/samplecontroller.k8s.io_foos.yaml")
		s.ok("wait crd foos.samplecontroller.k8s.io --for=condition=Established" + timeout)
		s.until("api-resources --api-group=samplecontroller.k8s.io", "foos")
		go discard(runProgram(t, "foo-controller", "--kubeconfig="+s.kubeconfig))
		s.okWith(foo, "apply -f -")
		s.ok("wait deployment web" + untilCreated)
		for n := 1; n <= 7; n++ {
			s.ok(fmt.Sprintf("annotate --overwrite foo web look=%d", n))
			s.until("get events -o jsonpath={.items[0].count} --field-selector="+
				"involvedObject.kind=Foo,involvedObject.name=web,reason=Synced",
				fmt.Sprintf(`^([%d-9]|\d\d)$`, n))
		}
		s.matches("describe foo web",
			`Events:\n +Type +Reason +Age +From +Message\n.*\n`+
				` +Normal +Synced +\S+ \(x\d+ over \S+\) +sample-controller +Foo synced successfully\n`)
		s.fails("", `patch foo web --type=merge -p {"spec":{"replicas":11}}`,
			"spec.replicas in body should be less than or equal to 10")
		s.ok("delete foo web")
		s.ok("wait deployment web" + untilDeleted)
	})
}
