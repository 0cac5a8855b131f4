// Command kubectl-lite applies and deletes what stands in files, as kubectl apply --server-side and kubectl delete do.
//
//	files ─▶ documents ─▶ resources (RESTMapper) ─▶ dynamic client: apply, delete ─▶ one line each, errors last
//	                                                        └ delete --wait ─▶ an informer until the object is gone
//
// Reading order: root.go, connection.go, apply.go, delete.go, wait.go, words.go; demo.go plays all of it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"glasswatch/cmd/internal/demo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code. The demo has a command line of its own, that of the numbered demos.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if i := slices.Index(args, "--demo"); i >= 0 {
		return demo.Run(ctx, story, slices.Delete(slices.Clone(args), i, i+1), stdout, stderr)
	}
	return execute(ctx, args, stdout, stderr, nil)
}

// execute runs one command. connect takes the place of the kubeconfig; nil: there is none.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer, connect connector) int {
	g := &global{connect: connect, stopLog: func() error { return nil }}
	root := newRoot(g)
	root.SetArgs(append([]string{}, args...)) // nil would stand for the process's own
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if logErr := g.stopLog(); err == nil {
		err = logErr
	}
	if err == nil {
		return 0
	}
	_, _ = io.WriteString(stderr, wordsFor(err))
	return 1
}
