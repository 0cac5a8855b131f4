// Command programs is kube-controller-manager, kube-scheduler and descheduler in one binary, unchanged, on the
// informers of one's choice.
//
//	programs kube-controller-manager --kubeconfig F …    upstream's flags
//	GLASSWATCH_INFORMERS=client-go programs kube-scheduler …
//
// GLASSWATCH_INFORMERS chooses the informers: "client-go" those of client-go, "unshared" ours on the caller's closures,
// and "" ours with sharing. The program compiles against the copy of client-go that tests/check/programs/patch makes:
//
//	go run -C tests/check ./programs/patch -o ../../bin/programs
//
// The first line on standard output, "look 127.0.0.1:PORT", names the HTTP server of look.go.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // the names of a CronJob's time zones

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	descheduler "sigs.k8s.io/descheduler/cmd/descheduler/app"
)

var commands = map[string]func() *cobra.Command{
	"kube-controller-manager": manager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"descheduler":             func() *cobra.Command { return descheduler.NewDeschedulerCommand(os.Stderr) },
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "programs: want kube-controller-manager, kube-scheduler or descheduler, with its flags")
		os.Exit(2)
	}
	made, err := hookInformers(os.Getenv("GLASSWATCH_INFORMERS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(2)
	}
	if err := serveLook(made, hookTransports()); err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
	command := commands[os.Args[1]]()
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}
