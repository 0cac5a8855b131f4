package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// The processes of this program: it starts itself with one of these flags.
const (
	serveFlag   = "-serve"
	measureFlag = "-measure"
)

// order is what a process is told to do, after its task. It answers each with a line of JSON.
type order struct{ Do string }

// orders are what a process does when it is told to. What they return is the answer.
type orders map[string]func() (any, error)

// obey carries out the orders that it reads until there are no more.
func obey(in *json.Decoder, out io.Writer, orders orders) error {
	write := json.NewEncoder(out)
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("order: %w", err)
		}
		do, ok := orders[o.Do]
		if !ok {
			return fmt.Errorf("no order %q", o.Do)
		}
		answer, err := do()
		if err != nil {
			return fmt.Errorf("%s: %w", o.Do, err)
		}
		if err := write.Encode(answer); err != nil {
			return err
		}
	}
}

// child is a process that this one has started.
type child struct {
	cmd        *exec.Cmd
	cancel     context.CancelFunc
	in         io.WriteCloser
	write      *json.Encoder
	read       *json.Decoder
	complaints bytes.Buffer // its standard error; read it after Wait
}

// start starts a process and gives it its task. The process lives until end, and no longer than ctx.
func start(ctx context.Context, flag string, task any) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &child{cmd: exec.CommandContext(ctx, self, flag), cancel: cancel}
	c.cmd.Stderr = &c.complaints
	in, err := c.cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	c.in, c.write, c.read = in, json.NewEncoder(in), json.NewDecoder(out)
	if err := c.write.Encode(task); err != nil {
		return nil, errors.Join(err, c.kill())
	}
	return c, nil
}

// tell gives an order; hear waits for its answer.
func (c *child) tell(do string) error { return c.write.Encode(order{do}) }

func (c *child) hear(answer any) error { return c.read.Decode(answer) }

func (c *child) ask(do string, answer any) error {
	if err := c.tell(do); err != nil {
		return fmt.Errorf("%s: %w", do, err)
	}
	if err := c.hear(answer); err != nil {
		return fmt.Errorf("%s: %w", do, err)
	}
	return nil
}

// end has the process finish. If it has failed, the error holds what it said.
func (c *child) end() error {
	defer c.cancel()
	err := errors.Join(c.in.Close(), c.cmd.Wait())
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.complaints.Bytes())
	}
	return nil
}

// kill ends the process, whatever it is doing. It returns what the process said if it had failed before.
func (c *child) kill() error {
	c.cancel()
	err := errors.Join(c.in.Close(), c.cmd.Wait())
	if c.complaints.Len() > 0 {
		return fmt.Errorf("%w\n%s", err, c.complaints.Bytes())
	}
	return nil
}
