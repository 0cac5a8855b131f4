package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"k8s.io/client-go/kubernetes"

	"glasswatch/cmd/internal/cluster"
)

// ChildVariable is set in the environment of the processes that a demo starts of its own program. In tests, where that
// program is the test's, it leads to the demo's main.
const ChildVariable = "GLASSWATCH_DEMO_CHILD"

// birth is a child's configuration, as JSON in ChildVariable.
type birth struct {
	Cluster   cluster.Flags
	Namespace string
	Task      string
}

// Child is another process of this program, which runs Story.Child. Expect prints its output, and Tell writes to its
// standard input.
type Child struct {
	demo *Demo
	cmd  *exec.Cmd
	in   io.Writer
	out  *bufio.Scanner
}

// Child starts one with the same server and namespace, and ends the story if it cannot. The child is killed when ctx ends.
func (d *Demo) Child(ctx context.Context, task string) *Child {
	cmd := d.childCommand(ctx, task)
	cmd.Stderr = os.Stderr
	child := &Child{demo: d, cmd: cmd, in: Must(cmd.StdinPipe()), out: bufio.NewScanner(Must(cmd.StdoutPipe()))}
	Check(cmd.Start())
	d.Cleanup(func(context.Context) error { child.Kill(); return nil })
	return child
}

func (d *Demo) childCommand(ctx context.Context, task string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, Must(os.Executable()))
	told := Must(json.Marshal(birth{d.cluster, d.Namespace, task}))
	// The race detector would let each child wait for a second at its end.
	cmd.Env = append(os.Environ(), ChildVariable+"="+string(told), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	return cmd
}

// Ran starts a child, waits until it has ended, and returns what it wrote to standard error.
func (d *Demo) Ran(ctx context.Context, task string) string {
	cmd, stderr := d.childCommand(ctx, task), &bytes.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		Check(fmt.Errorf("the child: %w: %s", err, stderr))
	}
	return stderr.String()
}

// Expect waits for n lines and prints them.
func (c *Child) Expect(n int) {
	for range n {
		if !c.out.Scan() {
			Check(fmt.Errorf("the child ended, want a line: %w", io.ErrUnexpectedEOF))
		}
		c.demo.Entry("child", "", c.out.Text())
	}
}

// Tell writes a line, and returns the child.
func (c *Child) Tell(line string) *Child {
	Must(fmt.Fprintln(c.in, line))
	return c
}

// Kill is kill -9, and returns when the process is gone. It may be called again.
func (c *Child) Kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill() // the only error is that the process has ended
		_ = c.cmd.Wait()         // the error is that it was killed
	}
}

// live is the life of a child.
func live(ctx context.Context, s Story, told string, stdout io.Writer) (err error) {
	defer rescue(&err)
	var b birth
	if err := json.Unmarshal([]byte(told), &b); err != nil {
		return fmt.Errorf("%s: %w", ChildVariable, err)
	}
	cfg, _, err := b.Cluster.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	d := &Demo{Printer: NewPrinter(stdout), Config: cfg, Client: client, Namespace: b.Namespace, cluster: b.Cluster}
	return s.Child(ctx, d, b.Task)
}
